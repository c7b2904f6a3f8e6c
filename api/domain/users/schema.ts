import * as z from 'zod'
import { maxPermissionLength, permissionPattern } from '#api/domain/access/permissions.ts'
import { exampleId, exampleInstant } from '#api/platform/http/examples.ts'
import { boundedText, shownId, shownInstant } from '#api/platform/http/fields.ts'

/** The path parameter for a user. The tenant chooses its user ids. */
export const userParams = z.object({
  userId: boundedText(128)
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9._@~-]*$/,
      'must start with a letter or digit and contain only letters, digits and . _ @ ~ -',
    )
    .meta({ examples: ['user-7'] }),
})

/** The maximum lifetime of a token. */
export const maxTokenMinutes = 60

const createExample = { durationMinutes: 15, permissions: [`organizations/${exampleId('organization')}/**:r`] }

/** The body of `POST /api/users/{userId}/tokens/`. */
export const createTokenBody = z
  .strictObject({
    durationMinutes: z.int().min(1).max(maxTokenMinutes).default(15),
    permissions: z
      .array(
        boundedText(maxPermissionLength).regex(
          permissionPattern,
          'must be <path>:<verb>, such as organizations/{id}/**:r',
        ),
      )
      .max(32)
      .default([]),
  })
  .meta({ id: 'CreateToken', examples: [createExample] })

/** The answer of `POST /api/users/{userId}/tokens/`. */
export const createdToken = z
  .object({
    tokenId: shownId('token'),
    accessToken: z.string(),
    tokenType: z.literal('Bearer'),
    expiresAt: shownInstant(),
  })
  .meta({
    id: 'CreatedToken',
    examples: [
      {
        tokenId: exampleId('token'),
        accessToken: '<header>.<claims>.<signature>',
        tokenType: 'Bearer',
        expiresAt: exampleInstant,
      },
    ],
  })

/** A JSON Web Key Set (RFC 7517). */
export const keySet = z
  .object({ keys: z.array(z.object({ kty: z.string(), kid: z.string(), alg: z.string(), use: z.string() }).loose()) })
  .meta({
    id: 'JsonWebKeySet',
    examples: [{ keys: [{ kty: 'EC', crv: 'P-256', x: '…', y: '…', kid: 'first', alg: 'ES256', use: 'sig' }] }],
  })

export type CreateToken = z.output<typeof createTokenBody>
export type CreatedToken = z.output<typeof createdToken>
