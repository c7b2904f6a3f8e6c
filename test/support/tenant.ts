import { createRest, inNewProject } from './rest.ts'

type NewKey = { claims?: Record<string, boolean>; isActive?: boolean }

/** An organization with one project, and keys for it; `rest` speaks with the platform key. */
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
    /** The paths of permissions. */
    paths: { organization, project: `${organization}/projects/${projectId}` },
    key,
    /** A client of the tenant's scope with a new key of these permissions. */
    withKey: async (permissions: readonly string[], more?: NewKey) =>
      createRest(baseUrl, rest.scope, await key(permissions, more)),
    /** The id of a new world. */
    world: async (body: object = {}): Promise<string> => {
      const made = await rest.call<{ worldId: string }>('POST', '/api/worlds/', {
        name: 'Lobby',
        transient: false,
        ...body,
      })
      if (made.status !== 200) throw new Error(`no world: ${JSON.stringify(made.body)}`)
      return made.body.worldId
    },
    /** A token of the built-in issuer. */
    token: async (userId: string, permissions: readonly string[] = []): Promise<string> => {
      const made = await rest.call<{ accessToken: string }>('POST', `/api/users/${userId}/tokens/`, { permissions })
      if (made.status !== 200) throw new Error(`no token: ${JSON.stringify(made.body)}`)
      return made.body.accessToken
    },
  }
}

/** The tenant of a test. */
export type Tenant = Awaited<ReturnType<typeof aTenant>>
