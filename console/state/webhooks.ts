import type { Webhook, WebhookDelivery } from '#client/operations.ts'

/** A state in words. `isBad` if somebody has to act. */
export type StateText = { readonly name: string; readonly detail: string; readonly isBad: boolean }

const disabledTexts: Readonly<Record<NonNullable<Webhook['disabledReason']>, string>> = {
  Failing: 'Nothing could be delivered for too long. Mend the receiver, then activate the webhook.',
  Gone: 'The receiver answered 410 Gone. Change the URL, or activate the webhook.',
  Backlog: 'Too many deliveries were pending. Make the receiver faster, then activate the webhook.',
}

/** Returns whether a webhook sends messages, and why not. */
export const describeWebhook = ({ isActive, failingSince, disabledReason }: Webhook): StateText => {
  if (!isActive && disabledReason !== undefined) {
    return { name: `Deactivated: ${disabledReason}`, detail: disabledTexts[disabledReason], isBad: true }
  }
  if (!isActive) return { name: 'Inactive', detail: 'It was switched off. No events are recorded.', isBad: false }
  if (failingSince === undefined) return { name: 'Active', detail: '', isBad: false }
  return { name: 'Failing', detail: 'No attempt has succeeded since. Pending messages are repeated.', isBad: true }
}

/** Returns what became of a delivery. */
export const describeDelivery = ({ status, attempts, statusCode, error }: WebhookDelivery): StateText => ({
  name: status === 'Pending' && attempts > 0 ? 'Pending, failed so far' : status,
  detail: [statusCode === undefined ? '' : `HTTP ${statusCode}.`, error ?? ''].filter((each) => each !== '').join(' '),
  isBad: status !== 'Delivered' && attempts > 0,
})
