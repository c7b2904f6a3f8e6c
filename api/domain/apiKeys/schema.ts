import * as z from 'zod'
import { permissionField } from '#api/domain/access/permissions.ts'
import { exampleId, exampleInstant } from '#api/platform/http/examples.ts'
import { boundedText, maxNameLength, shownId, shownInstant } from '#api/platform/http/fields.ts'
import { networkPattern } from '#api/platform/http/networks.ts'
import { pageQuery } from '#api/platform/http/page.ts'
import { maskedApiKey } from '#api/platform/secrets/apiKey.ts'
import { instant } from '#shared/domain/common.ts'

const example = {
  displayName: 'Matchmaker',
  claims: { largeWorlds: false },
  isActive: true,
  permissions: [`organizations/${exampleId('organization')}/**:w`],
}
const claimsText = 'Capabilities outside the permission tree, by name. True grants the claim.'
const permissionsText = 'Permissions of the form `<path>:<verb>`.'
const displayName = () =>
  boundedText(maxNameLength)
    .min(1)
    .meta({ description: 'Name for people.', examples: [example.displayName] })
const claims = () =>
  z
    .record(boundedText(128).min(1), z.boolean())
    .refine((map) => Object.keys(map).length <= 64, 'must have at most 64 entries')
    .meta({ maxProperties: 64, description: claimsText, examples: [example.claims] })
const permissions = () => z.array(permissionField('w')).max(256).describe(permissionsText)
const isActive = () => z.boolean().describe('False if the key is switched off.')

const expiresAt = () =>
  instant().meta({
    examples: [exampleInstant],
    description: 'Time from which the key is refused, in the years 1970 to 9999 in UTC.',
  })
const allowedNetworks = () =>
  z
    .array(boundedText(64).regex(networkPattern, 'must be a CIDR block, such as 192.0.2.0/24'))
    .min(1)
    .max(64)
    .meta({ examples: [['192.0.2.0/24']], description: 'The CIDR blocks from which the key may be used.' })

/** The body of `POST /api/organizations/apiKeys/`. */
export const createApiKeyBody = z
  .strictObject({
    displayName: displayName(),
    claims: claims().default({}),
    isActive: isActive().default(true),
    permissions: permissions().default([]),
    expiresAt: expiresAt().exactOptional(),
    allowedNetworks: allowedNetworks().exactOptional(),
  })
  .meta({ id: 'CreateApiKey', examples: [example] })

const apiKey = z
  .string()
  .describe('The key string. Later reads show it to callers that hold all permissions and claims of the key.')

/** The answer of `POST /api/organizations/apiKeys/`, with the key string. */
export const createdApiKey = z.object({ apiKey }).meta({ id: 'CreatedApiKey', examples: [{ apiKey: maskedApiKey }] })

/** The body of `PATCH /api/organizations/apiKeys/{apiKeyId}/`. Omitted fields stay unchanged; null removes a restriction. */
export const patchApiKeyBody = z
  .strictObject({
    displayName: displayName().exactOptional(),
    claims: claims().exactOptional(),
    isActive: isActive().exactOptional(),
    permissions: permissions().exactOptional(),
    expiresAt: expiresAt()
      .nullable()
      .exactOptional()
      .describe('Time from which the key is refused. `null` removes it.'),
    allowedNetworks: allowedNetworks()
      .nullable()
      .exactOptional()
      .describe('The CIDR blocks from which the key may be used. `null` removes the restriction.'),
  })
  .meta({ id: 'PatchApiKey', examples: [{ displayName: 'Old matchmaker', isActive: false }] })

/** The query of `GET /api/organizations/apiKeys/`. */
export const apiKeysQuery = pageQuery.extend({
  keyStrings: z
    .enum(['masked'])
    .optional()
    .meta({
      description: 'With `masked`, no key string is shown, and no audit record is written.',
      examples: ['masked'],
    }),
})

const previousValidUntil = () => shownInstant('Time until which the replaced string stays valid.')

/** An API key in a response. The key string is masked unless the caller may read it. */
export const apiKeyAnswer = z
  .object({
    documentId: shownId('apiKey'),
    displayName: z.string().describe('Name for people.'),
    isActive: isActive(),
    isManagedByProvisioner: z
      .boolean()
      .describe('True if the provisioner manages the key. Such a key cannot be changed.'),
    organizationId: shownId('organization'),
    claims: z.record(z.string(), z.boolean()).describe(claimsText),
    permissions: z.array(z.string()).describe(permissionsText),
    keyString: z.string().meta({
      description: 'The key string, masked unless the caller has `*` and all permissions and claims of the key.',
      examples: [maskedApiKey],
    }),
    expiresAt: shownInstant('Time from which the key is refused.').exactOptional(),
    lastUsedAt: shownInstant('Time of the last use, written at most once a minute.').exactOptional(),
    previousValidUntil: previousValidUntil()
      .exactOptional()
      .describe(
        'Time until which the string before the last rotation stays valid. Absent if it is not valid any more.',
      ),
    allowedNetworks: z.array(z.string()).exactOptional().describe('The CIDR blocks from which the key may be used.'),
  })
  .meta({
    id: 'ApiKey',
    examples: [
      {
        documentId: exampleId('apiKey'),
        ...example,
        isManagedByProvisioner: false,
        organizationId: exampleId('organization'),
        keyString: maskedApiKey,
      },
    ],
  })

const maxOverlapSeconds = 30 * 24 * 3_600

/** The body of `POST /api/organizations/apiKeys/{apiKeyId}/rotate/`. */
export const rotateApiKeyBody = z
  .strictObject({
    overlapSeconds: z.int().min(0).max(maxOverlapSeconds).default(3_600).meta({
      description: 'The time for which the replaced string stays valid, in seconds.',
    }),
  })
  .meta({ id: 'RotateApiKey', examples: [{ overlapSeconds: 3_600 }] })

/** The answer of `POST /api/organizations/apiKeys/{apiKeyId}/rotate/`: the new string and the expiry of the old one. */
export const rotatedApiKey = z
  .object({ apiKey, previousValidUntil: previousValidUntil() })
  .meta({ id: 'RotatedApiKey', examples: [{ apiKey: maskedApiKey, previousValidUntil: exampleInstant }] })

/** The credential of a request in a response, without a secret. */
export const currentCredential = z
  .object({
    kind: z
      .enum(['platform', 'key', 'user'])
      .describe("Kind of credential: the platform key, an API key or a user's token."),
    id: z.string().describe('Identifier of the API key, subject of the token, or `platform`.'),
    name: z.string().exactOptional().describe('Name of the API key, for people. Absent for other kinds.'),
    organizationId: shownId('organization')
      .exactOptional()
      .describe('Organization of the credential. Absent for the platform key.'),
    permissions: z.array(z.string()).describe('Permissions that the credential has now. `*` is full access.'),
    claims: z.record(z.string(), z.boolean()).describe(claimsText),
    expiresAt: shownInstant('Time from which the credential is refused. Absent if it does not expire.').exactOptional(),
  })
  .meta({
    id: 'CurrentCredential',
    examples: [
      {
        kind: 'key',
        id: exampleId('apiKey'),
        name: example.displayName,
        organizationId: exampleId('organization'),
        permissions: example.permissions,
        claims: {},
      },
    ],
  })

export type CurrentCredential = z.output<typeof currentCredential>
export type ApiKeysQuery = z.output<typeof apiKeysQuery>
export type RotateApiKey = z.output<typeof rotateApiKeyBody>
export type RotatedApiKey = z.input<typeof rotatedApiKey>
export type CreateApiKey = z.output<typeof createApiKeyBody>
export type PatchApiKey = z.output<typeof patchApiKeyBody>
export type ApiKeyAnswer = z.output<typeof apiKeyAnswer>
