import { delimiter, dirname, resolve } from 'node:path'
import { parse } from 'yaml'
import { type ConfigEntry, firstLine, parseConnection, readConfigFile } from './connection.ts'
import { type Connection, type Credentials, createCredentials } from './credentials.ts'
import { isRecord } from './errors.ts'

export type { Credentials } from './credentials.ts'

const serviceAccountDir = '/var/run/secrets/kubernetes.io/serviceaccount'

/**
 * Loads the credentials of a cluster from the kubeconfig at `path`, by default `KUBECONFIG`; several files, separated as
 * in PATH, are merged as kubectl merges them. Without a kubeconfig, loads the service account of the pod. Certificates
 * and tokens in files are read again as they rotate. Throws an Error that names the file, the fault and the remedy.
 */
export const loadCredentials = (
  env: NodeJS.ProcessEnv,
  { path = env.KUBECONFIG ?? '', serviceAccount = serviceAccountDir } = {},
): Credentials => {
  if (path !== '') return createCredentials(readKubeconfig(path))
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port = '443' } = env
  if (!host) {
    throw new Error(
      'No Kubernetes cluster is configured. Set KUBECONFIG to a kubeconfig file, or run inside a cluster.',
    )
  }
  const ca = resolve(serviceAccount, 'ca.crt')
  const tokenFile = resolve(serviceAccount, 'token')
  for (const file of [ca, tokenFile]) readConfigFile(file, `The service account file ${file}`)
  const server = `https://${host.includes(':') ? `[${host}]` : host}:${port}`
  return createCredentials({ server, ca: { file: ca }, tokenFile })
}

const readKubeconfig = (path: string): Connection => {
  const subject = `The kubeconfig ${path}`
  const entries = new Map<string, ConfigEntry>()
  let currentContext: unknown
  for (const file of path.split(delimiter).filter((part) => part !== '')) {
    const document = readDocument(file)
    currentContext ??= document['current-context'] || undefined
    for (const kind of ['cluster', 'context', 'user']) {
      for (const [name, fields] of parseEntries(document[`${kind}s`], kind, file)) {
        // As kubectl merges: the first file that names an entry wins.
        const id = `${kind} ${name}`
        if (!entries.has(id)) entries.set(id, { fields, dir: dirname(resolve(file)) })
      }
    }
  }
  if (typeof currentContext !== 'string') {
    throw new Error(`${subject} has no current-context. Set one with kubectl config use-context.`)
  }
  const find = (kind: string, name: unknown): ConfigEntry => {
    const entry = entries.get(`${kind} ${String(name)}`)
    if (entry === undefined) {
      throw new Error(`${subject} has no ${kind} named ${String(name)}, which its current context refers to.`)
    }
    return entry
  }
  const context = find('context', currentContext).fields
  const user = context.user === undefined ? { fields: {}, dir: '.' } : find('user', context.user)
  return parseConnection(find('cluster', context.cluster), user, subject)
}

const readDocument = (file: string): Record<string, unknown> => {
  const text = readConfigFile(file, `The kubeconfig ${file}`)
  try {
    const document: unknown = parse(text)
    if (isRecord(document)) return document
  } catch (error) {
    throw new Error(`The kubeconfig ${file} is not valid YAML: ${firstLine(error)}`, { cause: error })
  }
  throw new Error(`The kubeconfig ${file} must be a mapping with clusters, users and contexts.`)
}

const parseEntries = (list: unknown, kind: string, file: string): [string, Record<string, unknown>][] => {
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
