import { expect, test } from 'vitest'
import type { Webhook, WebhookDelivery } from '#client/operations.ts'
import { describeDelivery, describeWebhook } from './webhooks.ts'

const at = '2026-11-28T14:00:00Z'
const webhook: Webhook = {
  documentId: 'whk-1',
  organizationId: 'org-1',
  url: 'https://hooks.example.com/',
  events: [],
  isActive: true,
  createdAt: at,
  updatedAt: at,
}

test.each<[Partial<Webhook>, string, boolean]>([
  [{}, 'Active', false],
  [{ failingSince: at }, 'Failing', true],
  [{ isActive: false }, 'Inactive', false],
  [{ isActive: false, failingSince: at }, 'Inactive', false],
  [{ isActive: false, failingSince: at, disabledAt: at, disabledReason: 'Failing' }, 'Deactivated: Failing', true],
  [{ isActive: false, disabledAt: at, disabledReason: 'Gone' }, 'Deactivated: Gone', true],
  [{ isActive: false, disabledAt: at, disabledReason: 'Backlog' }, 'Deactivated: Backlog', true],
])('a webhook with %j is %s', (members, name, isBad) => {
  const text = describeWebhook({ ...webhook, ...members })
  expect(text).toMatchObject({ name, isBad })
  expect(text.detail === '').toBe(name === 'Active')
})

const delivery: WebhookDelivery = {
  id: 'dlv-1',
  webhookId: 'whk-1',
  messageId: 'msg-1',
  type: 'webhook.test',
  status: 'Pending',
  createdAt: at,
  attempts: 0,
}

test.each<[Partial<WebhookDelivery>, string, string, boolean]>([
  [{}, 'Pending', '', false],
  [{ attempts: 1, failure: 'TimedOut', error: 'No answer.' }, 'Pending, failed so far', 'No answer.', true],
  [{ attempts: 8, status: 'Failed', statusCode: 500, error: 'Not 2xx.' }, 'Failed', 'HTTP 500. Not 2xx.', true],
  [{ attempts: 2, status: 'Delivered', statusCode: 204 }, 'Delivered', 'HTTP 204.', false],
])('a delivery with %j is %s', (members, name, detail, isBad) => {
  expect(describeDelivery({ ...delivery, ...members })).toEqual({ name, detail, isBad })
})
