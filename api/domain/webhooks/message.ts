import type { Sealer } from '#api/platform/secrets/seal.ts'
import { signatureHeaders } from '#api/platform/webhooks/signature.ts'
import { messageVersion } from './events.ts'
import type { ClaimedDelivery } from './queue.ts'
import { webhookContext } from './webhooks.ts'

/** Returns the request of an attempt: the signed message of a delivery. All attempts have the same id and body. */
export const toRequest = (
  { delivery, webhook }: ClaimedDelivery,
  { sealer, nowMs }: { sealer: Sealer; nowMs: number },
): { url: string; headers: Record<string, string>; body: string } => {
  const { messageId, type, createdAt, data } = delivery
  const body = JSON.stringify({ type, version: messageVersion, timestamp: createdAt.toISOString(), data })
  const { sealed, previousSealed, previousValidUntil } = webhook
  const isOverlap = previousValidUntil !== null && previousValidUntil.getTime() > nowMs
  const valid = [sealed, ...(isOverlap && previousSealed !== null ? [previousSealed] : [])]
  const secrets = valid.map((each) => sealer.open(each, webhookContext(webhook)))
  const message = { id: messageId, timestampSeconds: Math.floor(nowMs / 1_000), body }
  return {
    url: webhook.url,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'Orrery-Webhooks/1',
      ...signatureHeaders(message, secrets),
    },
    body,
  }
}
