import type { ReadonlySignal } from '@preact/signals'
import { useState } from 'preact/hooks'
import type { Client } from '#client/client.ts'
import type { Webhook, WebhookDelivery } from '#client/operations.ts'
import { formatCount } from '#console/state/format.ts'
import { describeDelivery } from '#console/state/webhooks.ts'
import { createRequests, type Requests } from '../../live/requests.ts'
import { Loaded, Said, Scrolled, Time } from '../pieces.tsx'
import { useLoader } from '../useLoader.ts'
import { Outcome } from './Outcome.tsx'
import { State } from './State.tsx'

/** The deliveries that are read, the newest ones. */
const maxShown = 200

type Props = { readonly client: Client; readonly webhook: Webhook; readonly version: ReadonlySignal<string> }

/** The newest deliveries of a webhook, each with a button that sends its message again. They are read again with the version. */
export const Deliveries = ({ client, webhook, version }: Props) => {
  const params = { webhookId: webhook.documentId }
  const { slot, load } = useLoader(
    (signal) => client.listWebhookDeliveries({ params, query: { limit: maxShown }, signal }),
    version,
  )
  const [requests] = useState(() => createRequests(load))
  const redeliver = (deliveryId: string): void =>
    requests.run(deliveryId, () => client.redeliverWebhook({ params: { ...params, deliveryId } }))
  return (
    <section aria-labelledby="deliveries-title" class="deliveries">
      <h2 id="deliveries-title">
        Deliveries to <Said text={webhook.url} />
      </h2>
      <Outcome requests={requests} done="The message is sent again." />
      <Loaded slot={slot.value} what="The deliveries" onRetry={load}>
        {(deliveries) =>
          deliveries.length === 0 ? (
            <p class="empty">Nothing was sent to this webhook yet, or it was too long ago to be kept.</p>
          ) : (
            <Table deliveries={deliveries} isActive={webhook.isActive} requests={requests} onRedeliver={redeliver} />
          )
        }
      </Loaded>
    </section>
  )
}

const Table = ({
  deliveries,
  isActive,
  requests,
  onRedeliver,
}: {
  readonly deliveries: readonly WebhookDelivery[]
  readonly isActive: boolean
  readonly requests: Requests
  readonly onRedeliver: (deliveryId: string) => void
}) => (
  <Scrolled label="Table of deliveries">
    <table>
      <thead>
        <tr>
          <th scope="col">Time</th>
          <th scope="col">Event</th>
          <th scope="col">State</th>
          <th scope="col">Attempts</th>
          <th scope="col">Last attempt</th>
          <th scope="col">Next attempt</th>
          <th scope="col">Redeliver</th>
        </tr>
      </thead>
      <tbody>
        {deliveries.map((delivery) => {
          const { id, messageId, type, createdAt, attempts, lastAttemptAt, nextAttemptAt } = delivery
          const isDisabled = !isActive || requests.pending.value !== ''
          return (
            <tr key={id}>
              <td>
                <Time at={createdAt} />
              </td>
              <td>
                <Said text={type} />
                <code class="id under">{messageId}</code>
              </td>
              <td class="wide">
                <State text={describeDelivery(delivery)} />
              </td>
              <td class="number">{formatCount(attempts)}</td>
              <td>
                <Time at={lastAttemptAt} />
              </td>
              <td>
                <Time at={nextAttemptAt} />
              </td>
              <td>
                <button
                  type="button"
                  aria-label={`Redeliver ${messageId}`}
                  aria-describedby={isActive ? undefined : 'inactive-note'}
                  aria-disabled={isDisabled}
                  aria-busy={requests.pending.value === id}
                  onClick={() => {
                    if (!isDisabled) onRedeliver(id)
                  }}
                >
                  Redeliver
                </button>
              </td>
            </tr>
          )
        })}
      </tbody>
    </table>
    {deliveries.length === maxShown && <p class="muted small">The newest {formatCount(maxShown)} deliveries.</p>}
  </Scrolled>
)
