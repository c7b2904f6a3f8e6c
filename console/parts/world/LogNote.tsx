import { formatDuration } from '#console/state/format.ts'
import { now } from '../../live/fleet.ts'
import type { LogReader } from '../../live/log.ts'
import { Said } from '../pieces.tsx'

/** Says whether the log is followed, why it ended, and when it is read again. */
export const LogNote = ({ log, isEmpty }: { readonly log: LogReader; readonly isEmpty: boolean }) => {
  const state = log.state.value
  if (state.kind === 'opening') return <p class="log-note muted">Opening the log…</p>
  if (state.kind === 'open') {
    return (
      <p class="log-note muted">
        {isEmpty ? 'The server has written nothing yet. ' : ''}New lines appear as the server writes them.
      </p>
    )
  }
  const { notice, retryAtMs } = state
  return (
    <div role="status" class={`log-note is-${notice.kind}`}>
      <p>{notice.text}</p>
      {notice.detail !== undefined && notice.detail !== '' && (
        <p class="muted">
          <Said text={notice.detail} />
        </p>
      )}
      {notice.requestId !== undefined && (
        <p class="muted small">
          Request <code>{notice.requestId}</code>
        </p>
      )}
      <p>
        {retryAtMs !== undefined && <Countdown atMs={retryAtMs} />}
        <button type="button" onClick={log.readAgain}>
          Read again
        </button>
      </p>
    </div>
  )
}

/** Not part of the status: it would be read out every second. */
const Countdown = ({ atMs }: { readonly atMs: number }) => {
  const seconds = Math.max(0, Math.ceil((atMs - now.value) / 1_000))
  return <span aria-hidden="true">Next try {seconds === 0 ? 'now' : `in ${formatDuration(seconds * 1_000)}`} </span>
}
