import { endpoint } from '#api/domain/endpoint/endpoint.ts'
import { createdToken, createTokenBody, keySet, userParams } from './schema.ts'
import { createToken, revokeToken } from './tokens.ts'

const tag = 'Tokens'

/** Endpoints of the built-in issuer: tokens need `*` on the organization, and the public keys need no credential. */
export const userEndpoints = [
  endpoint({
    method: 'post',
    path: '/api/users/{userId}/tokens/',
    operationId: 'createToken',
    summary: 'Create a short-lived token for a user',
    description: 'The token never permits more than its key does now. It becomes invalid with the key.',
    credential: 'key',
    tag,
    scope: 'organization',
    needs: ['organization', '*'],
    params: userParams,
    body: createTokenBody,
    answer: createdToken,
    handle: async (ctx, { params, body }) => ({ body: await createToken(ctx, params.userId, body) }),
  }),
  endpoint({
    method: 'delete',
    path: '/api/users/{userId}/tokens/{tokenId}/',
    operationId: 'revokeToken',
    summary: 'Revoke a token',
    description: 'Every replica refuses the token within a second. An unknown id is accepted.',
    tag,
    scope: 'organization',
    needs: ['organization', '*'],
    params: userParams,
    status: 204,
    problems: [409],
    handle: (ctx, { params }) => revokeToken(ctx, params.userId, params.tokenId),
  }),
  endpoint({
    method: 'get',
    path: '/.well-known/jwks.json',
    operationId: 'getJsonWebKeySet',
    summary: 'Read the public keys that verify tokens of the built-in issuer',
    description: 'A JSON Web Key Set (RFC 7517). Clients may cache it for five minutes.',
    tag,
    credential: 'none',
    answer: keySet,
    handle: async (ctx) => ({
      body: await ctx.issuer.keySet(),
      headers: { 'cache-control': 'public, max-age=300' },
    }),
  }),
]
