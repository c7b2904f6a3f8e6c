import { expect, test } from 'vitest'
import { apiDocument } from './document.ts'
import { credentialOf } from './domain/endpoint/endpoint.ts'
import { endpoints } from './endpoints.ts'

/**
 * The operations by the credentials that they accept. A new operation is added here on purpose: an operation that grants
 * permissions, or that shows or changes a credential, is for keys only, since it would outlive the token.
 */
const operations = {
  none: [
    'getOrganization',
    'getOrganizationById',
    'getJsonWebKeySet',
    // Who signs in has no credential yet.
    ...['listSignInIssuers', 'createSignInRequest', 'createSignInToken', 'refreshSignInToken'],
  ],
  token: ['getWorldAccess'],
  key: [
    // Credentials.
    ...['listApiKeys', 'createApiKey', 'patchApiKey', 'rotateApiKey', 'deleteApiKey', 'createToken', 'putGroups'],
    ...['createWebhook', 'rotateWebhook'],
    // The platform.
    ...['createOrganization', 'deleteOrganization', 'restoreOrganization', 'purgeOrganization'],
    ...['patchLimits', 'getSyncStatus', 'listPlatformAuditRecords'],
  ],
  keyOrToken: [
    ...['listOrganizations', 'patchOrganization', 'patchOrganizationById'],
    ...['putOrganizationPicture', 'putOrganizationPictureById', 'getUsage', 'listAuditRecords'],
    ...['revokeToken', 'getGroups', 'listWebhooks', 'getWebhook', 'patchWebhook', 'deleteWebhook', 'testWebhook'],
    ...['listWebhookDeliveries', 'redeliverWebhook'],
    ...[
      'listProjects',
      'createProject',
      'getProject',
      'patchProject',
      'deleteProject',
      'restoreProject',
      'purgeProject',
    ],
    ...['listScalingProfiles', 'listPublicWorlds', 'listTravelLocations', 'listWorlds', 'countWorlds', 'actOnWorlds'],
    ...[
      'createWorld',
      'getWorld',
      'patchWorld',
      'deleteWorld',
      'startWorld',
      'stopWorld',
      'wakeWorld',
      'putWorldPicture',
    ],
    ...['listDeletedWorlds', 'restoreWorld', 'purgeWorld', 'listWorldEvents', 'listWorldDeployments'],
    ...['explainWorld', 'readWorldMetrics', 'getCurrentCredential'],
    // It ends with the credential of its request.
    'createRealtimeTicket',
    ...['listBotDeployments', 'createBotDeployment', 'getBotDeployment', 'patchBotDeployment', 'deleteBotDeployment'],
    ...[
      'readWorldLog',
      'readBotLog',
      'listBotDeploymentEvents',
      'getBuild',
      'putBuild',
      'deleteBuild',
      'resolveBuildAndContent',
    ],
    ...['getKvStore', 'putKvStore', 'deleteKvStore', 'getCollection', 'putCollection', 'deleteCollection'],
    ...['getLiveConfig', 'putLiveConfig', 'deleteLiveConfig'],
  ],
}

test('every operation declares the credentials that it accepts', () => {
  const accepted = Object.groupBy(endpoints, credentialOf)
  const declared = Object.fromEntries(
    Object.entries(accepted).map(([credential, each = []]) => [
      credential,
      each.map(({ operationId }) => operationId).sort(),
    ]),
  )
  expect(declared).toEqual(
    Object.fromEntries(Object.entries(operations).map(([credential, each]) => [credential, [...each].sort()])),
  )
})

test('operations of the platform and those that need a claim accept only keys', () => {
  for (const endpoint of endpoints) {
    if (endpoint.platformOnly || endpoint.claim)
      expect([endpoint.operationId, credentialOf(endpoint)]).toEqual([endpoint.operationId, 'key'])
  }
})

test('the OpenAPI document names the credentials of every operation, and the 403 where only a key is accepted', () => {
  type Operation = { security: object[]; description: string; responses: object }
  const { paths } = apiDocument('https://api.example.com')
  const schemes = { none: [], key: ['apiKey'], token: ['token'], keyOrToken: ['apiKey', 'token'] }
  for (const endpoint of endpoints) {
    const operation = (paths[endpoint.path] as Record<string, Operation>)[endpoint.method]
    const accepted = credentialOf(endpoint)
    expect(operation?.security.flatMap(Object.keys)).toEqual(schemes[accepted])
    if (accepted === 'none') continue
    expect(operation?.description).toMatch(/Takes (an API key( only)?|a user's token only)\b/)
    if (accepted === 'key') expect(Object.keys(operation?.responses ?? {})).toContain('403')
  }
})
