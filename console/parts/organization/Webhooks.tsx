import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Webhook } from '#client/operations.ts'
import { describeWebhook } from '#console/state/webhooks.ts'
import { hrefOf, place } from '../../live/location.ts'
import { unversioned } from '../../live/organization.ts'
import { readAll } from '../../live/readAll.ts'
import { createRequests, type Requests } from '../../live/requests.ts'
import type { Session } from '../../live/session.ts'
import { Several } from '../audit/Several.tsx'
import { Permitted } from '../Permitted.tsx'
import { Loaded, Said, Scrolled, Time } from '../pieces.tsx'
import { useLoader } from '../useLoader.ts'
import { Deliveries } from './Deliveries.tsx'
import { Outcome } from './Outcome.tsx'
import { State } from './State.tsx'
import '../audit/records.css'

/** The webhooks of the organization, whether they deliver, and the deliveries of the one in the URL. */
export const Webhooks = ({ session }: { readonly session: Session }) => (
  <Permitted session={session} operationId="listWebhooks" what="the webhooks">
    <List session={session} />
  </Permitted>
)

const List = ({ session: { client } }: { readonly session: Session }) => {
  const { slot, load } = useLoader((signal) => readAll(client.pages('listWebhooks', { signal })), unversioned)
  const version = useSignal('')
  const [requests] = useState(() =>
    createRequests(() => {
      load()
      version.value = new Date().toISOString()
    }),
  )
  const test = (webhookId: string): void => requests.run(webhookId, () => client.testWebhook({ params: { webhookId } }))
  return (
    <Loaded slot={slot.value} what="The webhooks" onRetry={load}>
      {({ items, hasMore }) =>
        items.length === 0 ? (
          <p class="empty">
            This organization has no webhook. <code>POST /api/webhooks/</code> creates one.
          </p>
        ) : (
          <>
            <Table webhooks={items} requests={requests} onTest={test} />
            {items.some(({ isActive }) => !isActive) && (
              <p id={'inactive-note'} class="muted small">
                An inactive webhook sends nothing: no test message, and no delivery again.
              </p>
            )}
            {hasMore && <p class="muted small">There are more webhooks, which are not read.</p>}
            <Outcome requests={requests} done="The test message is on its way. Its delivery shows the result." />
            <Chosen webhooks={items}>
              {(webhook) => <Deliveries key={webhook.documentId} client={client} webhook={webhook} version={version} />}
            </Chosen>
          </>
        )
      }
    </Loaded>
  )
}

const Chosen = ({
  webhooks,
  children,
}: {
  readonly webhooks: readonly Webhook[]
  readonly children: (webhook: Webhook) => ComponentChildren
}) => {
  const wanted = place.value.webhook
  const webhook = webhooks.find(({ documentId }) => documentId === wanted)
  if (wanted === '') return <p class="muted">Choose the deliveries of a webhook to see them.</p>
  return webhook === undefined ? (
    <p class="empty">There is no such webhook. It may have been deleted.</p>
  ) : (
    children(webhook)
  )
}

const Table = ({
  webhooks,
  requests,
  onTest,
}: {
  readonly webhooks: readonly Webhook[]
  readonly requests: Requests
  readonly onTest: (webhookId: string) => void
}) => (
  <Scrolled label="Table of webhooks">
    <table>
      <thead>
        <tr>
          <th scope="col">URL</th>
          <th scope="col">State</th>
          <th scope="col">Events</th>
          <th scope="col">Created</th>
          <th scope="col">Actions</th>
        </tr>
      </thead>
      <tbody>
        {webhooks.map((webhook) => {
          const { documentId, url, events, createdAt, failingSince, disabledAt, isActive } = webhook
          const isBusy = requests.pending.value === documentId
          const isDisabled = !isActive || requests.pending.value !== ''
          return (
            <tr key={documentId}>
              <th scope="row" class="wide">
                <Said text={url} />
                <code class="id under">{documentId}</code>
              </th>
              <td class="wide">
                <State text={describeWebhook(webhook)} since={isActive ? failingSince : disabledAt} />
              </td>
              <td>{events.length === 0 ? 'All' : <Several items={events} />}</td>
              <td>
                <Time at={createdAt} />
              </td>
              <td>
                <div class="buttons">
                  <a
                    class="button"
                    href={hrefOf({ webhook: documentId })}
                    aria-current={place.value.webhook === documentId ? 'true' : undefined}
                    aria-label={`Deliveries to ${documentId}`}
                  >
                    Deliveries
                  </a>
                  <button
                    type="button"
                    aria-label={`Send a test message to ${documentId}`}
                    aria-describedby={isActive ? undefined : 'inactive-note'}
                    aria-disabled={isDisabled}
                    aria-busy={isBusy}
                    onClick={() => {
                      if (!isDisabled) onTest(documentId)
                    }}
                  >
                    Test
                  </button>
                </div>
              </td>
            </tr>
          )
        })}
      </tbody>
    </table>
  </Scrolled>
)
