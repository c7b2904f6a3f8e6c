import { loadCredentials } from '#shared/kube/config.ts'
import { KubeError } from '#shared/kube/errors.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import { createTransport } from '#shared/kube/transport.ts'
import { fieldManagers, groupVersion } from '#shared/resources/group.ts'
import { getServers } from '#test/support/servers.ts'
import type { Body } from './generators.ts'

export type Kind = 'World' | 'BotDeployment'

type Condition = { readonly type: string; readonly status: string; readonly reason: string; readonly message: string }

/** A resource of either kind as the API server returns it. */
export type Live = KubeObject & {
  readonly spec: Body
  readonly status?: { readonly conditions?: readonly Condition[] }
}

const plurals: Readonly<Record<Kind, string>> = { World: 'worlds', BotDeployment: 'botdeployments' }

/** Connects to the cluster of this worker, as an administrator and as the API, for the resources of one namespace. */
export const connectTo = (namespace: string, projectId: string) => {
  const connect = (KUBECONFIG: string) =>
    createTransport({ credentials: loadCredentials({ KUBECONFIG }), userAgent: 'orrery-tests' })
  const { adminKubeconfig, apiKubeconfig } = getServers()
  const [admin, api] = [connect(adminKubeconfig), connect(apiKubeconfig)]
  const pathOf = (kind: Kind, ...name: readonly string[]): string =>
    ['', 'apis', groupVersion, 'namespaces', namespace, plurals[kind], ...name].join('/')
  const read = (kind: Kind, name: string): Promise<Live> => admin.request({ method: 'GET', path: pathOf(kind, name) })
  return {
    read,
    /** Creates a resource as kubectl does. Undefined if the API server refuses it. */
    create: (kind: Kind, name: string, spec: Body): Promise<Live | undefined> => {
      const metadata = { namespace, name, labels: { 'orrery.dev/project': projectId } }
      const body = { apiVersion: groupVersion, kind, metadata, spec }
      return ifAccepted(admin.request<Live>({ method: 'POST', path: pathOf(kind), body }))
    },
    /** Patches the spec of a resource as kubectl does. Undefined if the API server refuses it. */
    patch: (kind: Kind, name: string, spec: Body): Promise<Live | undefined> => {
      const contentType = 'application/merge-patch+json'
      return ifAccepted(admin.request<Live>({ method: 'PATCH', path: pathOf(kind, name), contentType, body: { spec } }))
    },
    remove: async (kind: Kind, name: string): Promise<void> => {
      await admin.request({ method: 'DELETE', path: pathOf(kind, name) })
    },
    /** Returns what an apply of the API would make of a resource, without making it. Throws if the API server refuses it. */
    dryApply: (kind: Kind, name: string, body: object): Promise<Live> =>
      api.request<Live>({
        method: 'PATCH',
        path: pathOf(kind, name),
        query: { dryRun: 'All', fieldManager: fieldManagers.api, force: 'true' },
        contentType: 'application/apply-patch+yaml',
        body,
      }),
    close: () => Promise.all([admin.close(), api.close()]),
  }
}

const ifAccepted = async (request: Promise<Live>): Promise<Live | undefined> => {
  try {
    return await request
  } catch (error) {
    if (error instanceof KubeError && [400, 403, 422].includes(error.status)) return undefined
    throw error
  }
}
