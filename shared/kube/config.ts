import { readFileSync } from 'node:fs'
import { delimiter, dirname, resolve } from 'node:path'
import { parse } from 'yaml'
import { type Connection, type Credentials, createCredentials, type Source } from './credentials.ts'
import { isRecord } from './errors.ts'
import type { ExecPlugin } from './execPlugin.ts'

export type { Credentials } from './credentials.ts'

const serviceAccountDir = '/var/run/secrets/kubernetes.io/serviceaccount'

/**
 * Loads the cluster's credentials from the file given or named by `KUBECONFIG` (several, separated as in PATH, are
 * merged as kubectl does), else from the pod's service account. Files that it names are read again while running, so
 * what rotates may rotate. Throws an Error whose sentence names the file, what is wrong with it and what would be right.
 */
export const loadCredentials = (
  env: NodeJS.ProcessEnv,
  { path = env.KUBECONFIG ?? '', serviceAccount = serviceAccountDir } = {},
): Credentials => {
  if (path !== '') return createCredentials(readKubeconfig(path))
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' } = env
  if (!host) throw new Error('No Kubernetes: set KUBECONFIG to a kubeconfig file, or run inside a cluster.')
  const [ca, token] = ['ca.crt', 'token'].map((name) => {
    const file = resolve(serviceAccount, name)
    readable(file, 'The service account of this pod')
    return { file }
  })
  return createCredentials({ server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`, ca, token })
}

type Entry = { readonly fields: Record<string, unknown>; readonly dir: string }

const readKubeconfig = (path: string): Connection => {
  const where = `The kubeconfig ${path}`
  const entries = new Map<string, Entry>()
  let currentContext: unknown
  for (const file of path.split(delimiter).filter((part) => part !== '')) {
    const document = readDocument(file)
    currentContext ??= document['current-context'] || undefined
    for (const kind of ['cluster', 'context', 'user']) {
      for (const [name, fields] of named(document[`${kind}s`], kind, file)) {
        // As kubectl merges: the first file that names a thing wins.
        const id = `${kind} ${name}`
        if (!entries.has(id)) entries.set(id, { fields, dir: dirname(resolve(file)) })
      }
    }
  }
  if (typeof currentContext !== 'string')
    throw new Error(`${where} has no current-context: kubectl config use-context …`)
  const find = (kind: string, name: unknown): Entry => {
    const entry = entries.get(`${kind} ${String(name)}`)
    if (entry === undefined)
      throw new Error(`${where} has no ${kind} named ${String(name)}, which its context asks for.`)
    return entry
  }
  const context = find('context', currentContext).fields
  const user = context.user === undefined ? { fields: {}, dir: '.' } : find('user', context.user)
  return connection(find('cluster', context.cluster), user, where)
}

const readDocument = (file: string): Record<string, unknown> => {
  const text = readable(file, 'The kubeconfig')
  try {
    const document: unknown = parse(text)
    if (isRecord(document)) return document
  } catch (error) {
    throw new Error(`The kubeconfig ${file} is not YAML: ${firstLine(error)}`, { cause: error })
  }
  throw new Error(`The kubeconfig ${file} is not a kubeconfig: it must hold clusters, users and contexts.`)
}

const named = (list: unknown, kind: string, file: string): [string, Record<string, unknown>][] => {
  if (list === undefined || list === null) return []
  if (!Array.isArray(list)) throw new Error(`The kubeconfig ${file}: ${kind}s must be a list.`)
  return list.map((item: unknown, index) => {
    if (!isRecord(item) || typeof item.name !== 'string') {
      throw new Error(`The kubeconfig ${file}: ${kind}s[${index}] must have a name.`)
    }
    const fields = item[kind]
    return [item.name, isRecord(fields) ? fields : {}]
  })
}

const connection = (cluster: Entry, user: Entry, where: string): Connection => {
  const source = ({ fields, dir }: Entry, name: string, dataName = `${name}-data`): Source | undefined => {
    const data = text(fields[dataName])
    if (data !== undefined) return { bytes: Buffer.from(data, 'base64') }
    const file = text(fields[name])
    if (file === undefined) return undefined
    readable(resolve(dir, file), `${where}: its ${name}`)
    return { file: resolve(dir, file) }
  }
  const { username, password } = user.fields
  const token = text(user.fields.token)
  if (user.fields['auth-provider'] !== undefined) {
    throw new Error(
      `${where} uses auth-provider, which Kubernetes has removed: use an exec plugin, a token or a certificate.`,
    )
  }
  if (cluster.fields['proxy-url'] !== undefined) {
    throw new Error(`${where} has a proxy-url, which is not supported: name an address that is reached directly.`)
  }
  return {
    server: serverOf(cluster.fields.server, where),
    ca: source(cluster, 'certificate-authority'),
    insecure: cluster.fields['insecure-skip-tls-verify'] === true,
    servername: text(cluster.fields['tls-server-name']),
    cert: source(user, 'client-certificate'),
    key: source(user, 'client-key'),
    token: token === undefined ? source(user, 'tokenFile', '') : { bytes: Buffer.from(token) },
    basic: typeof username === 'string' ? `${username}:${text(password) ?? ''}` : undefined,
    exec: isRecord(user.fields.exec) ? execOf(user.fields.exec, user.dir, where) : undefined,
    impersonate: text(user.fields.as),
  }
}

const serverOf = (server: unknown, where: string): string => {
  const url = typeof server === 'string' ? URL.parse(server) : null
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new Error(`${where}: the server must be an http or https URL, it is ${JSON.stringify(server) ?? 'missing'}.`)
  }
  return url.href.replace(/\/+$/, '')
}

const execOf = (exec: Record<string, unknown>, dir: string, where: string): ExecPlugin => {
  const { command, args, env, apiVersion } = exec
  if (typeof command !== 'string' || typeof apiVersion !== 'string') {
    throw new Error(`${where}: the user's exec must have a command and an apiVersion.`)
  }
  const variables = (Array.isArray(env) ? env : []).filter(isRecord)
  return {
    // As kubectl does: a command with a slash is relative to its kubeconfig, another is looked up in PATH.
    command: command.includes('/') ? resolve(dir, command) : command,
    args: (Array.isArray(args) ? args : []).map(String),
    env: Object.fromEntries(variables.map(({ name, value }) => [String(name), String(value)])),
    apiVersion,
  }
}

const text = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

const readable = (file: string, what: string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new Error(`${what} cannot be read: ${firstLine(error)}. Give a file that this process may read.`, {
      cause: error,
    })
  }
}

const firstLine = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? ''
