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
  /** A user's token with all rights in the organization, valid for an hour. */
  readonly token: string
}

const userId = 'user-7'

/**
 * Creates an organization with a project, worlds, bots, a build, a webhook and a key. Changes of limits go to a second
 * organization, since low limits in the first would make every later create fail.
 */
export const makeFixture = async (baseUrl: string, platformKey: string): Promise<Fixture> => {
  const platform = createClient({ baseUrl, apiKey: platformKey })
  const { organizationId } = await platform.createOrganization({ body: { name: 'Steady' } })
  const { organizationId: limitedId } = await platform.createOrganization({ body: { name: 'Limited' } })
  const organization = platform.in({ organizationId })
  await organization.patchLimits({ params: { organizationId }, body: { maxWorlds: 1_000_000, maxWebhooks: 1_000 } })
  const { projectId } = await organization.createProject({ body: { name: 'Showroom' } })
  const project = platform.in({ organizationId, projectId })
  const image = 'registry.example/game/server:1.4'
  await project.putBuild({ params: { channelId: 'main', tag: 'stable' }, body: { image, contentId: 'content-42' } })
  const makeWorld = async () => (await project.createWorld({ body: { name: 'Lobby', transient: false } })).worldId
  const worldId = await makeWorld()
  await project.startWorld({ params: { worldId } })
  const { headers } = await project.request('createBotDeployment', { params: { worldId }, body: { count: 0 } })
  const { documentId: webhookId } = await organization.createWebhook({
    body: { url: 'https://hooks.example.com/', events: ['api_key.deleted'] },
  })
  const { id: deliveryId } = await organization.testWebhook({ params: { webhookId } })
  await organization.createApiKey({ body: { displayName: 'Steady' } })
  const apiKeys = await organization.listApiKeys()
  const permissions = [`organizations/${organizationId}/**:*`]
  const { accessToken } = await organization.createToken({
    params: { userId },
    body: { durationMinutes: 60, permissions },
  })
  // A key of another organization, so that a run cannot find and change or delete it.
  const { apiKey } = await platform.in({ organizationId: limitedId }).createApiKey({
    body: {
      displayName: 'Fuzzer',
      permissions,
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
    webhookId: [webhookId],
    deliveryId: [deliveryId],
    apiKeyId: apiKeys.map(({ documentId }) => documentId),
    // Matches any state, and no state.
    'if-match': ['*', '"0.0"'],
    'if-none-match': ['*', '"0.0"'],
  }
  const operations = {
    patchLimits: { 'x-svc-organization-id': [limitedId], organizationId: [limitedId] },
    // Bots belong to one world.
    ...Object.fromEntries(['get', 'patch', 'delete'].map((verb) => [`${verb}BotDeployment`, { worldId: [worldId] }])),
  }
  return { ids: { parameters, operations }, organizationKey: apiKey, token: accessToken }
}
