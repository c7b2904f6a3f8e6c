import { createRest, inNewProject } from './rest.ts'

type NewKey = { claims?: Record<string, boolean>; isActive?: boolean }

/** Creates an organization with one project. `rest` uses the platform key. */
export const aTenant = async (baseUrl: string) => {
  const rest = await inNewProject(baseUrl)
  const { organizationId = '', projectId = '' } = rest.scope
  const organization = `organizations/${organizationId}`
  const key = async (
    permissions: readonly string[],
    { claims = {}, isActive = true }: NewKey = {},
  ): Promise<string> => {
    const body = { displayName: 'Test', permissions, claims, isActive }
    const made = await rest.call<{ apiKey: string }>('POST', '/api/organizations/apiKeys/', body)
    if (made.status !== 200) throw new Error(`no key: ${JSON.stringify(made.body)}`)
    return made.body.apiKey
  }
  return {
    rest,
    scope: { organizationId, projectId },
    /** Permission paths. */
    paths: { organization, project: `${organization}/projects/${projectId}` },
    key,
    /** Creates a key with these permissions and returns a client for the tenant's scope that uses it. */
    withKey: async (permissions: readonly string[], more?: NewKey) =>
      createRest(baseUrl, rest.scope, await key(permissions, more)),
    /** Creates a user token of the built-in issuer and returns a client for the tenant's scope that uses it. */
    withToken: async (userId: string, permissions: readonly string[] = []) => {
      const made = await rest.call<{ accessToken: string }>('POST', `/api/users/${userId}/tokens/`, { permissions })
      return createRest(baseUrl, rest.scope, { token: made.body.accessToken })
    },
    /** Creates a world and returns its id. */
    world: async (body: object = {}): Promise<string> => {
      const made = await rest.call<{ worldId: string }>('POST', '/api/worlds/', {
        name: 'Lobby',
        transient: false,
        ...body,
      })
      if (made.status !== 200) throw new Error(`no world: ${JSON.stringify(made.body)}`)
      return made.body.worldId
    },
    /** Creates a user token of the built-in issuer. */
    token: async (userId: string, permissions: readonly string[] = []): Promise<string> => {
      const made = await rest.call<{ accessToken: string }>('POST', `/api/users/${userId}/tokens/`, { permissions })
      if (made.status !== 200) throw new Error(`no token: ${JSON.stringify(made.body)}`)
      return made.body.accessToken
    },
  }
}

export type Tenant = Awaited<ReturnType<typeof aTenant>>
