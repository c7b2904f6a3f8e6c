import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Connection, Impersonation, Source } from './credentials.ts'
import { isRecord } from './errors.ts'
import type { ExecPlugin } from './execPlugin.ts'

/** A cluster, user or context of a kubeconfig, and the directory that its file names are relative to. */
export type ConfigEntry = { readonly fields: Record<string, unknown>; readonly dir: string }

/** Parses a cluster and a user of a kubeconfig. Throws an Error that starts with `subject` and shows no secret. */
export const parseConnection = (cluster: ConfigEntry, user: ConfigEntry, subject: string): Connection => {
  const source = ({ fields, dir }: ConfigEntry, name: string): Source | undefined => {
    const data = asText(fields[`${name}-data`])
    if (data !== undefined) return { bytes: Buffer.from(data, 'base64') }
    const file = asText(fields[name])
    if (file === undefined) return undefined
    readConfigFile(resolve(dir, file), `${subject}: ${name}`)
    return { file: resolve(dir, file) }
  }
  if (user.fields['auth-provider'] !== undefined) {
    throw new Error(
      `${subject} uses auth-provider, which Kubernetes removed in version 1.26. Use an exec plugin, a token or a certificate.`,
    )
  }
  const { username, password, exec } = user.fields
  return {
    server: parseServer(cluster.fields.server, subject),
    proxyUrl: parseProxyUrl(cluster.fields['proxy-url'], subject),
    ca: source(cluster, 'certificate-authority'),
    insecure: cluster.fields['insecure-skip-tls-verify'] === true,
    servername: asText(cluster.fields['tls-server-name']),
    cert: source(user, 'client-certificate'),
    key: source(user, 'client-key'),
    ...parseToken(user, subject),
    basic: typeof username === 'string' ? `${username}:${asText(password) ?? ''}` : undefined,
    exec: isRecord(exec) ? parseExec(exec, user.dir, cluster, subject) : undefined,
    impersonate: parseImpersonation(user.fields, subject),
  }
}

const parseServer = (server: unknown, subject: string): string => {
  const url = typeof server === 'string' ? URL.parse(server) : null
  if (url === null || !/^https?:$/.test(url.protocol)) {
    const actual = server === undefined ? 'missing' : JSON.stringify(server)
    throw new Error(`${subject}: server must be an http or https URL, but is ${actual}.`)
  }
  return url.href.replace(/\/+$/, '')
}

const parseProxyUrl = (value: unknown, subject: string): string | undefined => {
  const proxyUrl = asText(value)
  if (proxyUrl === undefined) return undefined
  // The URL may hold a password, so the message does not show it.
  if (!/^(https?|socks5):$/.test(URL.parse(proxyUrl)?.protocol ?? '')) {
    throw new Error(`${subject}: proxy-url must be an http, https or socks5 URL.`)
  }
  return proxyUrl
}

const parseToken = ({ fields, dir }: ConfigEntry, subject: string): Pick<Connection, 'token' | 'tokenFile'> => {
  const token = asText(fields.token)
  const file = asText(fields.tokenFile)
  if (file === undefined) return { token }
  const tokenFile = resolve(dir, file)
  if (token === undefined) readConfigFile(tokenFile, `${subject}: tokenFile`)
  return { token, tokenFile }
}

const parseImpersonation = (fields: Record<string, unknown>, subject: string): Impersonation | undefined => {
  const user = asText(fields.as)
  const uid = asText(fields['as-uid'])
  const groups = asTexts(fields['as-groups'])
  const extra = isRecord(fields['as-user-extra']) ? fields['as-user-extra'] : {}
  if (user !== undefined) {
    const extraTexts = Object.entries(extra).map(([key, values]) => [key, asTexts(values)] as const)
    return { user, uid, groups, extra: Object.fromEntries(extraTexts) }
  }
  if (uid !== undefined || groups.length > 0 || Object.keys(extra).length > 0) {
    throw new Error(`${subject} has as-uid, as-groups or as-user-extra without as. Name the user to impersonate in as.`)
  }
  return undefined
}

/** The cluster extension that client-go passes to plugins as `spec.cluster.config`. */
const execExtension = 'client.authentication.k8s.io/exec'

const parseExec = (exec: Record<string, unknown>, dir: string, cluster: ConfigEntry, subject: string): ExecPlugin => {
  const { command, args, env, apiVersion, provideClusterInfo } = exec
  if (typeof command !== 'string' || typeof apiVersion !== 'string') {
    throw new Error(`${subject}: the user's exec must have a command and an apiVersion.`)
  }
  const variables = (Array.isArray(env) ? env : []).filter(isRecord)
  const extensions = Array.isArray(cluster.fields.extensions) ? cluster.fields.extensions.filter(isRecord) : []
  return {
    // As kubectl does: a command with a slash is relative to its kubeconfig, any other is looked up in PATH.
    command: command.includes('/') ? resolve(dir, command) : command,
    args: asTexts(args),
    env: Object.fromEntries(variables.map(({ name, value }) => [String(name), String(value)])),
    apiVersion,
    provideClusterInfo: provideClusterInfo === true,
    clusterConfig: extensions.find(({ name }) => name === execExtension)?.extension,
  }
}

const asText = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

const asTexts = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : [])

/** Reads a file. Throws an Error that starts with `subject` if it cannot be read. */
export const readConfigFile = (file: string, subject: string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const message = `${subject} cannot be read: ${firstLine(error)}. Name a file that this process can read.`
    throw new Error(message, { cause: error })
  }
}

/** Returns the first line of an error's message. */
export const firstLine = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? ''
