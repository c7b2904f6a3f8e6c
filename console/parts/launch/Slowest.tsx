import { useRef, useState } from 'preact/hooks'
import { isTemporary } from '#console/state/attention.ts'
import { maxSlowest, type Start, toStart } from '#console/state/launch/launch.ts'
import { formatSeconds, withoutNote } from '#console/state/launch/words.ts'
import { toVisible } from '#console/state/visible.ts'
import { now } from '../../live/fleet.ts'
import { launch } from '../../live/launch.ts'
import { hrefOf, place } from '../../live/location.ts'
import { scoped } from '../../live/order.ts'
import { Said, Scrolled } from '../pieces.tsx'
import { StageBadge } from './Funnel.tsx'

const columns = ['World', 'Stage', 'Time', 'Reason', 'Message']

/** The slowest starts. No row moves while the pointer or the focus is in the table. */
export const Slowest = () => {
  const [isHeld, hold] = useState(false)
  const kept = useRef<{ readonly key: string; readonly starts: readonly Start[] }>({ key: '', starts: [] })
  const { slowest = [], isComplete } = launch.value ?? {}
  // Another filter or time has other rows, and until all worlds are loaded there are always more.
  const { filter, since, projectId } = place.value
  const key = JSON.stringify([filter, since, projectId, isComplete])
  if (!isHeld || kept.current.key !== key || kept.current.starts.length === 0) kept.current = { key, starts: slowest }
  const shown = kept.current.starts
  // Reads no signal that changes more often than the figures.
  const latest = ({ row }: Start): Start | undefined => {
    const present = scoped.peek().get(row.id)
    return present && toStart(present, now.peek())
  }
  return (
    <section aria-labelledby="launch-slowest" class="launch-part">
      <h2 id="launch-slowest">The slowest starts</h2>
      <p class="muted">
        At most {maxSlowest}, of the runs that are ready or still start. No row moves while the pointer or the focus is
        in the table.
      </p>
      <div
        role="presentation"
        onPointerEnter={({ pointerType }) => pointerType === 'mouse' && hold(true)}
        onPointerLeave={({ currentTarget }) => currentTarget.contains(document.activeElement) || hold(false)}
        onFocusIn={() => hold(true)}
        onFocusOut={({ currentTarget }) => currentTarget.matches(':hover') || hold(false)}
      >
        {shown.length === 0 ? (
          <p>No run is ready or still starts.</p>
        ) : (
          <Scrolled label="Table of the slowest starts">
            <table>
              <thead>
                <tr>
                  {columns.map((column) => (
                    <th key={column} scope="col">
                      {column}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {shown.map((start) => (
                  <StartRow key={start.row.id} start={isHeld ? latest(start) : start} />
                ))}
              </tbody>
            </table>
          </Scrolled>
        )}
      </div>
    </section>
  )
}

const StartRow = ({ start }: { readonly start: Start | undefined }) => {
  if (start === undefined) {
    return (
      <tr>
        <td colSpan={columns.length}>This world was deleted.</td>
      </tr>
    )
  }
  const {
    row: { id, projectId, name, reason, message, readySinceMs },
    stage,
    ms,
  } = start
  return (
    <tr>
      <th scope="row" class="launch-name">
        <a href={hrefOf({ projectId, worldId: id })}>
          <Said text={name} />
        </a>
      </th>
      <td>
        <StageBadge stage={stage} />
      </td>
      <td>
        {ms !== undefined && formatSeconds(ms)}
        {ms !== undefined && readySinceMs === 0 && <span class="muted"> so far</span>}
      </td>
      <td class={isTemporary(reason) ? 'is-temporary' : 'is-serious'}>{toVisible(reason)}</td>
      <td class="wide">
        <Said text={withoutNote(message)} />
      </td>
    </tr>
  )
}
