import { execFile } from 'node:child_process'
import { isRecord } from './errors.ts'

/** A command that prints credentials, as a kubeconfig names it (client.authentication.k8s.io). */
export type ExecPlugin = {
  readonly command: string
  readonly args: readonly string[]
  readonly env: Record<string, string>
  readonly apiVersion: string
}

/** What a plugin printed; `expiresAtMs` is epoch milliseconds, infinite where it named none. */
export type ExecCredential = { token?: string; cert?: string; key?: string; expiresAtMs: number }

const timeoutMs = 60_000
const maxBytes = 1024 * 1024

/** Runs the plugin, without a terminal. Rejects with a sentence that names the command; what it printed is not shown. */
export const runExecPlugin = (plugin: ExecPlugin): Promise<ExecCredential> => {
  const { command, args, apiVersion } = plugin
  const info = JSON.stringify({ apiVersion, kind: 'ExecCredential', spec: { interactive: false } })
  const env = { ...process.env, ...plugin.env, KUBERNETES_EXEC_INFO: info }
  return new Promise((done, fail) => {
    execFile(command, [...args], { env, timeout: timeoutMs, maxBuffer: maxBytes }, (error, stdout, stderr) => {
      if (error !== null) {
        const why = error.killed ? `it took longer than ${timeoutMs} ms` : stderr.trim().slice(-512) || error.code
        return fail(new Error(`the credential plugin ${command} failed: ${why}`))
      }
      const credential = read(stdout)
      if (credential === undefined) fail(new Error(`the credential plugin ${command} printed no ExecCredential`))
      else done(credential)
    })
  })
}

const read = (stdout: string): ExecCredential | undefined => {
  const parsed = parseJson(stdout)
  const status = isRecord(parsed) && isRecord(parsed.status) ? parsed.status : {}
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = status
  const expiresAtMs = typeof expirationTimestamp === 'string' ? Date.parse(expirationTimestamp) : Number.NaN
  if (typeof token !== 'string' && typeof cert !== 'string') return undefined
  return {
    ...(typeof token === 'string' ? { token } : {}),
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
