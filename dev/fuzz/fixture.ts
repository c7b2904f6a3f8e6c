import { createClient } from '#client/client.ts'

type Values = Readonly<Record<string, readonly string[]>>

/** The ids and keys that a run uses. */
export type Fixture = {
  readonly ids: {
    /** The values of parameters that are ids, by name. */
    readonly parameters: Values
    /** Values for single operations. */
    readonly operations: Readonly<Record<string, Values>>
  }
  /** A key with all rights in the organization, and none on the platform. */
  readonly organizationKey: string
  /** A user's token, good for an hour. */
  readonly token: string
}

const userId = 'user-7'

/**
 * Makes an organization with a project, worlds, bots, a build and a key, and an organization of its own for the limits,
 * which else would end all creation.
 */
export const makeFixture = async (baseUrl: string, platformKey: string): Promise<Fixture> => {
  const platform = createClient({ baseUrl, apiKey: platformKey })
  const { organizationId } = await platform.createOrganization({ body: { name: 'Steady' } })
  const { organizationId: limitedId } = await platform.createOrganization({ body: { name: 'Limited' } })
  const organization = platform.in({ organizationId })
  await organization.patchLimits({ params: { organizationId }, body: { maxWorlds: 1_000_000 } })
  const { projectId } = await organization.createProject({ body: { name: 'Showroom' } })
  const project = platform.in({ organizationId, projectId })
  const image = 'registry.example/game/server:1.4'
  await project.putBuild({ params: { channelId: 'main', tag: 'stable' }, body: { image, contentId: 'content-42' } })
  const makeWorld = async () => (await project.createWorld({ body: { name: 'Lobby', transient: false } })).worldId
  const worldId = await makeWorld()
  await project.startWorld({ params: { worldId } })
  const { headers } = await project.request('createBotDeployment', { params: { worldId }, body: { count: 0 } })
  await organization.createApiKey({ body: { displayName: 'Steady' } })
  const apiKeys = await organization.listApiKeys()
  const { accessToken } = await organization.createToken({ params: { userId }, body: { durationMinutes: 60 } })
  // A key of another organization, so that a run cannot find it and change or delete it.
  const { apiKey } = await platform.in({ organizationId: limitedId }).createApiKey({
    body: {
      displayName: 'Fuzzer',
      permissions: [`organizations/${organizationId}/**:*`],
      claims: { createOrganization: true, largeWorlds: true, worldServer: true },
    },
  })
  const parameters = {
    'x-svc-organization-id': [organizationId],
    'x-svc-project-id': [projectId],
    'x-svc-world-id': [worldId],
    organizationId: [organizationId],
    worldId: [worldId, await makeWorld()],
    botDeploymentId: [headers.get('location')?.split('/').at(-2) ?? ''],
    apiKeyId: apiKeys.map(({ documentId }) => documentId),
    // Any state, and none.
    'if-match': ['*', '"0.0"'],
  }
  const operations = {
    patchLimits: { 'x-svc-organization-id': [limitedId], organizationId: [limitedId] },
    getWorldAccess: { userId: [userId, 'user-8'] },
    // Bots belong to one world.
    ...Object.fromEntries(['get', 'patch', 'delete'].map((verb) => [`${verb}BotDeployment`, { worldId: [worldId] }])),
  }
  return { ids: { parameters, operations }, organizationKey: apiKey, token: accessToken }
}
