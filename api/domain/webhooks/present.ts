import { optional } from '#api/platform/http/fields.ts'
import type { DeliveryAnswer, WebhookAnswer } from './schema.ts'
import type { attemptFailures, DeliveryRow, WebhookRow } from './table.ts'

/** The sentences for the failures of attempts. They contain nothing of the answer. */
const failureSentences: Record<(typeof attemptFailures)[number], string> = {
  NoPublicAddress: 'The host name of the URL has no address, or one that is not public.',
  ConnectionFailed: 'The connection to the receiver failed.',
  TlsFailed: 'The TLS connection failed. Check the certificate of the receiver.',
  TimedOut: 'The receiver did not answer in time.',
  Redirect: 'The receiver answered with a redirect. Redirects are not followed; change the URL.',
  ErrorStatus: 'The receiver answered with a status other than 2xx.',
}

/** Converts a row to a webhook without its secret. */
export const presentWebhook = (row: WebhookRow): WebhookAnswer => ({
  documentId: row.id,
  organizationId: row.organizationId,
  url: row.url,
  events: row.events,
  isActive: row.isActive,
  ...optional('failingSince', row.failingSince?.toISOString()),
  ...optional('disabledAt', row.disabledAt?.toISOString()),
  ...optional('disabledReason', row.disabledReason),
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
})

/** Converts a row to a delivery. */
export const presentDelivery = (row: Omit<DeliveryRow, 'data'>): DeliveryAnswer => ({
  id: row.id,
  webhookId: row.webhookId,
  messageId: row.messageId,
  type: row.type,
  status: row.status,
  createdAt: row.createdAt.toISOString(),
  attempts: row.attempts,
  ...optional('lastAttemptAt', row.lastAttemptAt?.toISOString()),
  ...optional('nextAttemptAt', row.status === 'Pending' ? row.nextAttemptAt.toISOString() : null),
  ...optional('statusCode', row.statusCode),
  ...optional('failure', row.failure),
  ...optional('error', row.failure && failureSentences[row.failure]),
})
