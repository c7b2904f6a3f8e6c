import { endpoint } from '#api/domain/endpoint/endpoint.ts'
import { codeBody, refreshBody, signInIssuers, signInRequest, signInRequestBody, signInToken } from './schema.ts'
import { createSignInRequest, createSignInToken, listSignInIssuers, refreshSignInToken } from './signIn.ts'

const route = { tag: 'Sign-in', credential: 'none', auditsItself: true } as const
// The issuer answers while the request holds no share of the database connections.
const asking = { ...route, sharesItself: true, problems: [404, 503] } as const
const exchange = { ...asking, problems: [401, 404, 503] } as const

/** The endpoints with which people sign in to the console at an OpenID Connect issuer. They need no credential. */
export const signInEndpoints = [
  endpoint({
    ...route,
    method: 'get',
    path: '/api/sign-in/issuers/',
    operationId: 'listSignInIssuers',
    summary: 'List the issuers with which people can sign in to the console',
    description: 'Needs no credential.',
    answer: signInIssuers,
    handle: async (ctx) => ({ body: listSignInIssuers(ctx) }),
  }),
  endpoint({
    ...asking,
    method: 'post',
    path: '/api/sign-in/requests/',
    operationId: 'createSignInRequest',
    summary: 'Create the address at which an issuer signs a person in',
    description: 'The console goes there with a code challenge (RFC 7636). Needs no credential.',
    body: signInRequestBody,
    answer: signInRequest,
    handle: async (ctx, { body }) => ({ body: await createSignInRequest(ctx, body) }),
  }),
  endpoint({
    ...exchange,
    method: 'post',
    path: '/api/sign-in/tokens/',
    operationId: 'createSignInToken',
    summary: 'Exchange the code of an issuer for a token',
    description: 'The API exchanges it, so the secret of the client stays with the API. Needs no credential.',
    body: codeBody,
    answer: signInToken,
    handle: async (ctx, { body }) => ({ body: await createSignInToken(ctx, body) }),
  }),
  endpoint({
    ...exchange,
    method: 'post',
    path: '/api/sign-in/refresh/',
    operationId: 'refreshSignInToken',
    summary: 'Exchange a refresh token for the next token',
    description: 'Needs no credential.',
    body: refreshBody,
    answer: signInToken,
    handle: async (ctx, { body }) => ({ body: await refreshSignInToken(ctx, body) }),
  }),
]
