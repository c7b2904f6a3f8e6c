import * as z from 'zod'
import { endpoint } from '#api/domain/endpoint/endpoint.ts'
import { nextPageLink, pageQuery, toPage } from '#api/platform/http/page.ts'
import { deliveryExists, listDeliveries, redeliver, sendTest } from './deliveries.ts'
import {
  createdWebhook,
  createWebhookBody,
  deliveriesQuery,
  deliveryAnswer,
  patchWebhookBody,
  rotatedWebhook,
  rotateWebhookBody,
  webhookAnswer,
} from './schema.ts'
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  listWebhooks,
  lockWebhookRevision,
  patchWebhook,
  rotateWebhook,
  webhookExists,
} from './webhooks.ts'

const path = '/api/webhooks/'
const inOrganization = { tag: 'Webhooks', scope: 'organization', needs: ['organization', '*'] } as const
const onWebhook = {
  ...inOrganization,
  path: '/api/webhooks/{webhookId}/',
  exists: (ctx, { webhookId = '' }) => webhookExists(ctx, webhookId),
} as const satisfies Partial<Parameters<typeof endpoint>[0]>

/** The endpoints of webhooks and their deliveries. */
export const webhookEndpoints = [
  endpoint({
    ...inOrganization,
    method: 'get',
    path,
    operationId: 'listWebhooks',
    summary: 'List the webhooks of an organization',
    description: 'Returns the webhooks of the organization, oldest first, without their secrets.',
    query: pageQuery,
    answer: z.array(webhookAnswer),
    answerHeaders: ['link'],
    handle: async (ctx, { query }) => {
      const page = toPage(query)
      const { items, next } = await listWebhooks(ctx, page)
      return { body: items, headers: nextPageLink(path, page, next) }
    },
  }),
  endpoint({
    ...inOrganization,
    method: 'post',
    path,
    operationId: 'createWebhook',
    summary: 'Create a webhook; the response contains its secret',
    description: 'The secret is in this response only. A receiver verifies the messages with it (Standard Webhooks).',
    credential: 'key',
    body: createWebhookBody,
    idempotent: true,
    answer: createdWebhook,
    problems: [409],
    handle: async (ctx, { body }) => ({ body: await createWebhook(ctx, body) }),
  }),
  endpoint({
    ...onWebhook,
    method: 'get',
    operationId: 'getWebhook',
    summary: 'Read a webhook',
    description: 'The secret is not returned. `failingSince` and `disabledReason` tell if messages are delivered.',
    answer: webhookAnswer,
    answerHeaders: ['etag'],
    handle: (ctx, { params }) => getWebhook(ctx, params.webhookId),
  }),
  endpoint({
    ...onWebhook,
    method: 'patch',
    operationId: 'patchWebhook',
    summary: 'Change a webhook',
    description: 'Activating a webhook clears the reason for which it was deactivated, and sends what is pending.',
    lockRevision: lockWebhookRevision,
    body: patchWebhookBody,
    answer: webhookAnswer,
    handle: async (ctx, { params, body }) => ({ body: await patchWebhook(ctx, params.webhookId, body) }),
  }),
  endpoint({
    ...onWebhook,
    method: 'delete',
    operationId: 'deleteWebhook',
    summary: 'Delete a webhook with its deliveries',
    description: 'No message is sent afterwards, except by attempts that are under way.',
    lockRevision: lockWebhookRevision,
    status: 204,
    handle: async (ctx, { params }) => {
      await deleteWebhook(ctx, params.webhookId)
      return {}
    },
  }),
  endpoint({
    ...onWebhook,
    path: '/api/webhooks/{webhookId}/rotate/',
    method: 'post',
    operationId: 'rotateWebhook',
    summary: 'Replace the secret of a webhook; the old secret signs too for the overlap',
    description: 'For the overlap, messages have a signature of each of the two secrets. A second rotation ends it.',
    lockRevision: lockWebhookRevision,
    credential: 'key',
    body: rotateWebhookBody,
    idempotent: true,
    answer: rotatedWebhook,
    handle: async (ctx, { params, body }) => ({ body: await rotateWebhook(ctx, params.webhookId, body) }),
  }),
  endpoint({
    ...onWebhook,
    path: '/api/webhooks/{webhookId}/test/',
    method: 'post',
    operationId: 'testWebhook',
    summary: 'Send a test message to a webhook',
    description: 'The message has the type `webhook.test`. Its delivery shows the result.',
    lockRevision: lockWebhookRevision,
    idempotent: true,
    answer: deliveryAnswer,
    problems: [409],
    handle: async (ctx, { params }) => ({ body: await sendTest(ctx, params.webhookId) }),
  }),
  endpoint({
    ...onWebhook,
    path: '/api/webhooks/{webhookId}/deliveries/',
    method: 'get',
    operationId: 'listWebhookDeliveries',
    summary: 'List the deliveries of a webhook, newest first',
    description: 'A delivery has the status of the last answer and no content of it.',
    query: deliveriesQuery,
    answer: z.array(deliveryAnswer),
    answerHeaders: ['link'],
    handle: async (ctx, { params, query }) => {
      const { items, next } = await listDeliveries(ctx, params.webhookId, query)
      const { status } = query
      const list = `${path}${params.webhookId}/deliveries/`
      return { body: items, headers: nextPageLink(list, toPage(query), next, { status }) }
    },
  }),
  endpoint({
    ...inOrganization,
    path: '/api/webhooks/{webhookId}/deliveries/{deliveryId}/redeliver/',
    exists: (ctx, { webhookId = '', deliveryId = '' }) => deliveryExists(ctx, webhookId, deliveryId),
    method: 'post',
    operationId: 'redeliverWebhook',
    summary: 'Send a message again',
    description: 'The message keeps its id, and gets all attempts anew.',
    answer: deliveryAnswer,
    problems: [409],
    handle: async (ctx, { params }) => ({ body: await redeliver(ctx, params) }),
  }),
]
