import { z } from 'zod'
import { permissionPattern } from '#api/domain/access/permissions.ts'
import { exampleId } from '#api/platform/http/examples.ts'
import { boundedText, shownId } from '#api/platform/http/fields.ts'
import { maskedApiKey } from '#api/platform/secrets/apiKey.ts'

const example = {
  displayName: 'Matchmaker',
  claims: { largeWorlds: false },
  isActive: true,
  permissions: [`organizations/${exampleId('organization')}/**:w`],
}
const displayName = () =>
  boundedText(128)
    .min(1)
    .meta({ examples: [example.displayName] })
const claims = () =>
  z
    .record(boundedText(64).regex(/^[A-Za-z][A-Za-z0-9_.-]*$/), z.boolean())
    .refine((map) => Object.keys(map).length <= 64, 'must have at most 64 entries')
    .meta({ maxProperties: 64, examples: [example.claims] })
const permissions = () =>
  z.array(boundedText(256).regex(permissionPattern, 'must be <path>:<verb>, such as organizations/{id}/**:w')).max(256)

/** The body of `POST /api/organizations/apiKeys/`. */
export const createApiKeyBody = z
  .strictObject({
    displayName: displayName(),
    claims: claims().default({}),
    isActive: z.boolean().default(true),
    permissions: permissions().default([]),
  })
  .meta({ id: 'CreateApiKey', examples: [example] })

/** The answer of `POST /api/organizations/apiKeys/`: the key itself. */
export const createdApiKey = z
  .object({ apiKey: z.string() })
  .meta({ id: 'CreatedApiKey', examples: [{ apiKey: maskedApiKey }] })

/** The body of `PATCH /api/organizations/apiKeys/{apiKeyId}/`; what is left out stays. */
export const patchApiKeyBody = z
  .strictObject({
    displayName: displayName().exactOptional(),
    claims: claims().exactOptional(),
    isActive: z.boolean().exactOptional(),
    permissions: permissions().exactOptional(),
  })
  .meta({ id: 'PatchApiKey', examples: [{ displayName: 'Old matchmaker', isActive: false }] })

/** A key as answers show it; the key string is masked for those who may not hold it. */
export const apiKeyAnswer = z
  .object({
    documentId: shownId('apiKey'),
    displayName: z.string(),
    isActive: z.boolean(),
    isManagedByProvisioner: z.boolean(),
    organizationId: shownId('organization'),
    claims: z.record(z.string(), z.boolean()),
    permissions: z.array(z.string()),
    keyString: z.string().meta({ examples: [maskedApiKey] }),
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

export type CreateApiKey = z.output<typeof createApiKeyBody>
export type PatchApiKey = z.output<typeof patchApiKeyBody>
export type ApiKeyAnswer = z.output<typeof apiKeyAnswer>
