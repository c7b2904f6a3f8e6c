import * as z from 'zod'
import { endpoint, toPageReply } from '#api/domain/endpoint/endpoint.ts'
import { apiKeyExists, createApiKey, deleteApiKey, listApiKeys, patchApiKey, rotateApiKey } from './apiKeys.ts'
import { getCurrentCredential } from './current.ts'
import {
  apiKeyAnswer,
  apiKeysQuery,
  createApiKeyBody,
  createdApiKey,
  currentCredential,
  patchApiKeyBody,
  rotateApiKeyBody,
  rotatedApiKey,
} from './schema.ts'

const tag = 'API keys'
const path = '/api/organizations/apiKeys/'
const onKey = {
  path: '/api/organizations/apiKeys/{apiKeyId}/',
  tag,
  credential: 'key',
  scope: 'organization',
  needs: ['organization', '*'],
  exists: (ctx, { apiKeyId = '' }) => apiKeyExists(ctx, apiKeyId),
} as const satisfies Partial<Parameters<typeof endpoint>[0]>

/** Endpoints of API keys. Listing needs `r` on the organization, changes need `*`. Every credential can read what it is itself. */
export const apiKeyEndpoints = [
  endpoint({
    method: 'get',
    path: '/api/credentials/current/',
    operationId: 'getCurrentCredential',
    summary: 'Read what the credential of the request is and may do',
    description: 'Accepts every valid credential and needs no scope header. It returns no secret.',
    tag,
    answer: currentCredential,
    handle: async (ctx) => ({ body: await getCurrentCredential(ctx) }),
  }),
  endpoint({
    method: 'get',
    path,
    operationId: 'listApiKeys',
    summary: 'List the API keys of an organization; key strings are masked unless the caller may manage them',
    description: 'Key strings are masked unless the caller has `*` and all permissions and claims of the key.',
    credential: 'key',
    tag,
    scope: 'organization',
    needs: ['organization', 'r'],
    query: apiKeysQuery,
    answer: z.array(apiKeyAnswer),
    answerHeaders: ['link'],
    handle: async (ctx, { query }) => toPageReply(await listApiKeys(ctx, query)),
  }),
  endpoint({
    method: 'post',
    path,
    operationId: 'createApiKey',
    summary: 'Create an API key with at most the permissions of the caller',
    description: 'A key never grants more than its creator holds. Its string is shown in full in this response.',
    credential: 'key',
    tag,
    scope: 'organization',
    needs: ['organization', '*'],
    body: createApiKeyBody,
    idempotent: true,
    answer: createdApiKey,
    problems: [409],
    handle: async (ctx, { body }) => ({ body: await createApiKey(ctx, body) }),
  }),
  endpoint({
    ...onKey,
    method: 'patch',
    operationId: 'patchApiKey',
    summary: 'Change an API key',
    description:
      'Deactivating needs `*` on the organization. Other changes also need all permissions and claims of the key.',
    body: patchApiKeyBody,
    answer: apiKeyAnswer,
    handle: async (ctx, { params, body }) => ({ body: await patchApiKey(ctx, params.apiKeyId, body) }),
  }),
  endpoint({
    ...onKey,
    path: '/api/organizations/apiKeys/{apiKeyId}/rotate/',
    method: 'post',
    operationId: 'rotateApiKey',
    summary: 'Replace the string of an API key; the old string stays valid for the overlap',
    description: 'The replaced string stays valid for the overlap. A second rotation ends the first overlap.',
    body: rotateApiKeyBody,
    idempotent: true,
    answer: rotatedApiKey,
    handle: async (ctx, { params, body }) => ({ body: await rotateApiKey(ctx, params.apiKeyId, body) }),
  }),
  endpoint({
    ...onKey,
    method: 'delete',
    operationId: 'deleteApiKey',
    summary: 'Delete an API key',
    description: 'Every replica refuses the key within a second, and its realtime connections end.',
    status: 204,
    handle: (ctx, { params }) => deleteApiKey(ctx, params.apiKeyId),
  }),
]
