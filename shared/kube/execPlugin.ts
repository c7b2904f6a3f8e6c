import { execFile } from 'node:child_process'
import { withDefined } from '#shared/optional.ts'
import { isRecord } from './errors.ts'

/** A command that prints credentials, as a kubeconfig names it (client.authentication.k8s.io). */
export type ExecPlugin = {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Record<string, string>
  readonly apiVersion: string
  /** Passes the cluster to the plugin as `spec.cluster`, with `clusterConfig` as its `config`. */
  readonly provideClusterInfo: boolean
  readonly clusterConfig?: unknown
}

/** The cluster as a plugin receives it (client.authentication.k8s.io, Cluster). */
export type ClusterInfo = {
  readonly server: string
  readonly 'tls-server-name'?: string
  readonly 'insecure-skip-tls-verify'?: boolean
  readonly 'certificate-authority-data'?: string
  readonly 'proxy-url'?: string
}

/** The credentials that a plugin printed; `expiresAtMs` is epoch milliseconds, infinite if the plugin named none. */
export type ExecCredential = { token?: string; cert?: string; key?: string; expiresAtMs: number }

const timeoutMs = 60_000
const maxBytes = 1024 * 1024

/** Runs the plugin without a terminal. Rejects with an Error that names the command and never shows its output. */
export const runExecPlugin = (plugin: ExecPlugin, clusterInfo: ClusterInfo): Promise<ExecCredential> => {
  const { command, args, apiVersion, provideClusterInfo, clusterConfig } = plugin
  const cluster = provideClusterInfo ? { ...clusterInfo, config: clusterConfig } : undefined
  const info = JSON.stringify({ apiVersion, kind: 'ExecCredential', spec: { interactive: false, cluster } })
  const env = { ...process.env, ...plugin.env, KUBERNETES_EXEC_INFO: info }
  return new Promise((resolve, reject) => {
    execFile(command, [...args], { env, timeout: timeoutMs, maxBuffer: maxBytes }, (error, stdout, stderr) => {
      if (error !== null) {
        const reason = error.killed ? `it ran longer than ${timeoutMs} ms` : stderr.trim().slice(-512) || error.code
        return reject(new Error(`The credential plugin ${command} failed: ${reason}`))
      }
      const credential = parseCredential(stdout)
      if (credential === undefined) reject(new Error(`The credential plugin ${command} printed no ExecCredential.`))
      else resolve(credential)
    })
  })
}

const parseCredential = (stdout: string): ExecCredential | undefined => {
  const parsed = parseJson(stdout)
  const status = isRecord(parsed) && isRecord(parsed.status) ? parsed.status : {}
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = status
  const expiresAtMs = typeof expirationTimestamp === 'string' ? Date.parse(expirationTimestamp) : Number.NaN
  if (typeof token !== 'string' && typeof cert !== 'string') return undefined
  return {
    ...withDefined({ token: typeof token === 'string' ? token : undefined }),
    ...(typeof cert === 'string' && typeof key === 'string' ? { cert, key } : {}),
    expiresAtMs: Number.isNaN(expiresAtMs) ? Number.POSITIVE_INFINITY : expiresAtMs,
  }
}

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
