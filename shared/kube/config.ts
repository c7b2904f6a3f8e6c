import { existsSync } from 'node:fs'
import { KubeConfig } from '@kubernetes/client-node'

/** Where the API server is and how to be somebody there. */
export type Credentials = {
  readonly server: string
  /** TLS options for a connection: trust, and a client certificate where there is one. */
  readonly tls: () => Promise<{
    ca?: string | Buffer
    cert?: string | Buffer
    key?: string | Buffer
    rejectUnauthorized?: boolean
  }>
  /** Headers that authenticate a request; asked for each time, since tokens rotate. */
  readonly headers: () => Promise<Record<string, string>>
}

const serviceAccountToken = '/var/run/secrets/kubernetes.io/serviceaccount/token'

/**
 * Loads the cluster's credentials from the file that `KUBECONFIG` names, or from the pod's service account.
 * Throws an Error whose sentence names the file, what is wrong with it and what would be right.
 */
export const loadCredentials = (env: NodeJS.ProcessEnv): Credentials => {
  const config = new KubeConfig()
  const file = env.KUBECONFIG
  if (file) readFile(config, file)
  else if (existsSync(serviceAccountToken)) config.loadFromCluster()
  else throw new Error('No Kubernetes: set KUBECONFIG to a kubeconfig file, or run inside a cluster.')
  const server = config.getCurrentCluster()?.server
  if (server === undefined) {
    throw new Error(`The kubeconfig ${file ?? ''} has no current context with a cluster: set current-context in it.`)
  }
  const options = async () => {
    const https: Parameters<KubeConfig['applyToHTTPSOptions']>[0] = {}
    await config.applyToHTTPSOptions(https)
    return https
  }
  return {
    server: server.replace(/\/+$/, ''),
    tls: async () => {
      const { ca, cert, key, rejectUnauthorized } = (await options()) as Awaited<ReturnType<Credentials['tls']>>
      return {
        ...(ca ? { ca } : {}),
        ...(cert ? { cert } : {}),
        ...(key ? { key } : {}),
        ...(rejectUnauthorized === false ? { rejectUnauthorized } : {}),
      }
    },
    headers: async () => {
      const { headers, auth } = await options()
      const basic = auth ? { authorization: `Basic ${Buffer.from(auth).toString('base64')}` } : {}
      return { ...basic, ...(headers as Record<string, string> | undefined) }
    },
  }
}

const readFile = (config: KubeConfig, file: string): void => {
  try {
    config.loadFromFile(file)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new Error(`The kubeconfig ${file} (from KUBECONFIG) cannot be used: ${why}`, { cause: error })
  }
}
