import sharp from 'sharp'
import type { Endpoint, Scope } from '#api/domain/endpoint/endpoint.ts'
import { endpoints } from '#api/endpoints.ts'
import type { IdKind } from '#shared/ids.ts'

/** The ids that a request can name. */
export type RequestIds = Record<
  | 'organizationId'
  | 'projectId'
  | 'worldId'
  | 'botDeploymentId'
  | 'apiKeyId'
  | 'webhookId'
  | 'deliveryId'
  | 'channelId'
  | 'tag'
  | 'userId'
  | 'tokenId'
  | 'id',
  string
>
/** The credential of a request; none if it is empty. */
export type Credential = { readonly apiKey?: string; readonly token?: string }

/** A picture of four by four pixels. */
export const png = new Uint8Array(
  await sharp({ create: { width: 4, height: 4, channels: 3, background: 'red' } })
    .png()
    .toBuffer(),
)
const signIn = { issuer: 'https://id.example.com', redirectUri: 'https://id.example.com/console/' }
const lobby = { name: 'Lobby', transient: false }
/** The body of a document of each type. */
export const documentBodies = {
  KvStore: { data: { key: 'k', store: 'kvstoreClient', data: 1 } },
  Collection: { data: { userId: 'u', datasourceId: 'd', userCollection: [] } },
  LiveConfig: { data: { id: 'i', config: {} } },
}

/**
 * The matrix: the body of a valid request to each endpoint, by operationId. It requests what an attacker would want
 * most. A test fails for an endpoint that is missing here.
 */
export const bodies: Record<string, (of: RequestIds) => unknown> = {
  listOrganizations: () => undefined,
  createOrganization: () => ({ name: 'Taken' }),
  getOrganization: () => undefined,
  getOrganizationById: () => undefined,
  patchOrganization: () => ({ name: 'Taken' }),
  patchOrganizationById: () => ({ name: 'Taken' }),
  putOrganizationPicture: () => png,
  putOrganizationPictureById: () => png,
  patchLimits: () => ({ maxWorlds: 0 }),
  getUsage: () => undefined,
  getSyncStatus: () => undefined,
  listAuditRecords: () => undefined,
  listPlatformAuditRecords: () => undefined,
  getCurrentCredential: () => undefined,
  listApiKeys: () => undefined,
  createApiKey: (of) => ({ displayName: 'Mine', permissions: [`organizations/${of.organizationId}/**:r`] }),
  patchApiKey: () => ({ displayName: 'Mine', isActive: false }),
  deleteApiKey: () => undefined,
  listProjects: () => undefined,
  createProject: () => ({ name: 'Taken' }),
  getProject: () => undefined,
  patchProject: (of) => ({ documentId: of.projectId, name: 'Taken' }),
  deleteProject: () => undefined,
  deleteOrganization: () => undefined,
  restoreOrganization: () => undefined,
  purgeOrganization: () => undefined,
  restoreProject: () => undefined,
  purgeProject: () => undefined,
  listDeletedWorlds: () => undefined,
  restoreWorld: () => undefined,
  purgeWorld: () => undefined,
  listScalingProfiles: () => undefined,
  listPublicWorlds: () => undefined,
  listTravelLocations: () => undefined,
  listWorlds: () => undefined,
  countWorlds: () => undefined,
  actOnWorlds: (of) => ({ action: 'delete', ids: [of.worldId] }),
  createWorld: () => lobby,
  resolveBuildAndContent: (of) => ({ channelId: of.channelId, tag: of.tag }),
  getWorld: () => undefined,
  patchWorld: () => ({ name: 'Taken', isPublic: true }),
  deleteWorld: () => undefined,
  putWorldPicture: () => png,
  startWorld: () => undefined,
  stopWorld: () => undefined,
  wakeWorld: () => undefined,
  listWorldDeployments: () => undefined,
  explainWorld: () => undefined,
  readWorldMetrics: () => undefined,
  listWorldEvents: () => undefined,
  readWorldLog: () => undefined,
  readBotLog: () => undefined,
  listBotDeploymentEvents: () => undefined,
  getWorldAccess: () => undefined,
  listBotDeployments: () => undefined,
  createBotDeployment: () => ({ count: 1 }),
  getBotDeployment: () => undefined,
  patchBotDeployment: () => ({ count: 2 }),
  deleteBotDeployment: () => undefined,
  getBuild: () => undefined,
  putBuild: () => ({ image: 'registry.example/mine:1', contentId: 'mine' }),
  deleteBuild: () => undefined,
  ...Object.fromEntries(
    Object.entries(documentBodies).flatMap(([type, body]) => [
      [`get${type}`, () => undefined],
      [`put${type}`, () => body],
      [`delete${type}`, () => undefined],
    ]),
  ),
  rotateApiKey: () => ({ overlapSeconds: 0 }),
  listWebhooks: () => undefined,
  createWebhook: () => ({ url: 'https://hooks.example.com/mine' }),
  getWebhook: () => undefined,
  patchWebhook: () => ({ events: [] }),
  deleteWebhook: () => undefined,
  rotateWebhook: () => ({ overlapSeconds: 0 }),
  testWebhook: () => undefined,
  listWebhookDeliveries: () => undefined,
  redeliverWebhook: () => undefined,
  createToken: () => ({ durationMinutes: 1 }),
  revokeToken: () => undefined,
  getGroups: () => undefined,
  putGroups: (of) => ({
    groups: [
      { issuer: 'https://id.example.com', group: 'all', permissions: [`organizations/${of.organizationId}/**:r`] },
    ],
  }),
  getJsonWebKeySet: () => undefined,
  createRealtimeTicket: () => undefined,
  listSignInIssuers: () => undefined,
  createSignInRequest: () => ({ ...signIn, state: 's', nonce: 'n', codeChallenge: 'c'.repeat(43) }),
  createSignInToken: () => ({ ...signIn, code: 'c', codeVerifier: 'v'.repeat(43), nonce: 'n' }),
  refreshSignInToken: () => ({ issuer: signIn.issuer, refreshToken: 't' }),
}

/** The operations that read logs. */
export const logReads = ['readWorldLog', 'readBotLog']

/** Routes outside the matrix. They reveal nothing of a tenant but pictures, which are public by their URL. */
export const openRoutes = [
  'GET /',
  'GET /api/',
  'GET /console',
  'GET /console/*',
  'GET /api/asyncapi.json',
  'GET /livez',
  'GET /readyz',
  'GET /api/openapi.json',
  'GET /api/docs/',
  'GET /api/docs/:file/',
  'GET /api/files/*',
  'GET /api/realtime/connect/',
]

/** The statuses of operations that need no permission in an organization, with a key or a token without claims. */
export const withoutPermission: Record<string, number> = {
  getCurrentCredential: 200,
  listOrganizations: 200,
  createOrganization: 403,
  getSyncStatus: 403,
  listPlatformAuditRecords: 403,
  getOrganization: 200,
  getOrganizationById: 200,
  listScalingProfiles: 200,
  listPublicWorlds: 200,
  getJsonWebKeySet: 200,
  listSignInIssuers: 200,
  createSignInRequest: 404,
  createSignInToken: 404,
  refreshSignInToken: 404,
}

/** Reports whether a request with this scope has the header of the organization, or of the project. */
export const readsHeader = {
  organization: (scope: Scope) => scope !== 'none',
  project: (scope: Scope) => scope !== 'none' && scope !== 'organization',
}

const prefixes = {
  organization: 'org',
  project: 'prj',
  world: 'wld',
  bot: 'bot',
  apiKey: 'key',
  token: 'tok',
  webhook: 'whk',
  delivery: 'dlv',
}
/** Returns a well-formed id that does not exist. */
export const absentId = (kind: IdKind & keyof typeof prefixes): string => `${prefixes[kind]}-${'0'.repeat(26)}`
/** Returns the ids of a request with each replaced by one that does not exist. */
export const absent = (of: RequestIds): RequestIds => ({
  ...of,
  organizationId: absentId('organization'),
  projectId: absentId('project'),
  worldId: absentId('world'),
  botDeploymentId: absentId('bot'),
  apiKeyId: absentId('apiKey'),
  webhookId: absentId('webhook'),
  deliveryId: absentId('delivery'),
  channelId: 'channel-nobody',
  tag: 'tag-nobody',
  id: 'document-nobody',
})

/** Each endpoint with its operationId, for the titles of tests. */
export const operations = endpoints.map((endpoint): [string, Endpoint] => [endpoint.operationId, endpoint])
/** Returns the endpoint with this operationId. */
export const findOperation = (operationId: string): Endpoint => {
  const endpoint = endpoints.find((candidate) => candidate.operationId === operationId)
  if (endpoint === undefined) throw new Error(`no endpoint ${operationId}`)
  return endpoint
}
/** The operations that need a credential. */
export const needsCredential = operations.filter(([, { credential }]) => credential !== 'none')
