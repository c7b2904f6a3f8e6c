import type { Event } from '#client/operations.ts'
import { hrefOf } from '../../live/location.ts'
import { Loaded, Said, Scrolled, Time } from '../pieces.tsx'
import { useLoader } from '../useLoader.ts'
import type { PageState } from './page.ts'
import { Remedy } from './Remedy.tsx'

/** The recent events of a world, newest first. */
export const Events = ({ page }: { readonly page: PageState }) => {
  const { slot, load } = useLoader(page.reads.events, page.version)
  return (
    <Loaded slot={slot.value} what="The events" onRetry={load}>
      {(events) => (events.length === 0 ? <p class="empty">Nothing has happened to this world yet.</p> : table(events))}
    </Loaded>
  )
}

const table = (events: readonly Event[]) => (
  <Scrolled label="Table of events">
    <table>
      <thead>
        <tr>
          <th scope="col">Time</th>
          <th scope="col">Type</th>
          <th scope="col">Reason</th>
          <th scope="col">Message</th>
          <th scope="col">Run</th>
        </tr>
      </thead>
      <tbody>
        {events.map(({ id, createdAt, type, reason, message, remedy, runId }) => (
          <tr key={id}>
            <td>
              <Time at={createdAt} />
            </td>
            <td>{type === 'Warning' ? <span class="is-warning">▲ Warning</span> : 'Normal'}</td>
            <td>
              <Said text={reason} />
            </td>
            <td class="wide">
              <Said text={message} />
              <Remedy message={message} remedy={remedy} />
            </td>
            <td>{runId !== undefined && <code class="id">{runId}</code>}</td>
          </tr>
        ))}
      </tbody>
    </table>
    <p class="muted small">
      A world keeps its newest 100 events. <a href={hrefOf({ tab: 'runs', run: '' })}>All runs</a>
    </p>
  </Scrolled>
)
