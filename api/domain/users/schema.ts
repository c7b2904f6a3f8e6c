import * as z from 'zod'
import { permissionField } from '#api/domain/access/permissions.ts'
import { exampleId, exampleInstant } from '#api/platform/http/examples.ts'
import { boundedText, shownId, shownInstant } from '#api/platform/http/fields.ts'

/** The path parameter for a user. The tenant chooses its user ids. */
export const userParams = z.object({
  userId: boundedText(128)
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9._@~-]*$/,
      'must start with a letter or digit and contain only letters, digits and . _ @ ~ -',
    )
    .meta({ description: 'Identifier of the user.', examples: ['user-7'] }),
})

/** The maximum lifetime of a token. */
export const maxTokenMinutes = 60

const createExample = { durationMinutes: 15, permissions: [`organizations/${exampleId('organization')}/**:r`] }

/** The body of `POST /api/users/{userId}/tokens/`. */
export const createTokenBody = z
  .strictObject({
    durationMinutes: z.int().min(1).max(maxTokenMinutes).default(15).describe('Lifetime of the token in minutes.'),
    permissions: z.array(permissionField('r')).max(32).default([]).describe('Permissions of the form `<path>:<verb>`.'),
  })
  .meta({ id: 'CreateToken', examples: [createExample] })

/** The answer of `POST /api/users/{userId}/tokens/`. */
export const createdToken = z
  .object({
    tokenId: shownId('token').describe('Identifier of the token, with which it can be revoked.'),
    accessToken: z.string().describe('The token for `Authorization: Bearer`. It is shown once.'),
    tokenType: z.literal('Bearer').describe('Kind of credential: Bearer.'),
    expiresAt: shownInstant('Time from which the token is refused.'),
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
  .object({
    keys: z
      .array(
        z
          .object({
            kty: z.string().describe('Type of the key.'),
            kid: z.string().describe('Identifier of the key.'),
            alg: z.string().describe('Algorithm of the key.'),
            use: z.string().describe('Use of the key: sig.'),
          })
          .loose(),
      )
      .describe('The public keys.'),
  })
  .meta({
    id: 'JsonWebKeySet',
    examples: [{ keys: [{ kty: 'EC', crv: 'P-256', x: '…', y: '…', kid: 'first', alg: 'ES256', use: 'sig' }] }],
  })

export type CreateToken = z.output<typeof createTokenBody>
export type CreatedToken = z.output<typeof createdToken>
