import { formatCount } from '#console/state/format.ts'
import { bulk, closeBulk } from '../../live/bulk.ts'
import { lazy } from '../lazy.tsx'
import { isRunning, opened, openProgress } from './opened.ts'
import { describeEnd, describeRun } from './words.ts'
import './selection.css'

const BulkDialog = lazy(async () => (await import('./BulkDialog.tsx')).BulkDialog)

/** The dialog of actions on many worlds, and a line with the progress of the one that runs or whose result was not closed. */
export const BulkStatus = () => (
  <>
    {bulk.value !== undefined && <Line />}
    {opened.value !== undefined && <BulkDialog />}
  </>
)

const Line = () => {
  const current = bulk.value
  if (current === undefined) return null
  const { ids, outcomes } = current.progress
  return (
    <section aria-label="Action on many worlds" class="bulk-line">
      <strong role="status">{isRunning.value ? describeRun(current) : describeEnd(current)}</strong>
      {isRunning.value && (
        <>
          <progress max={ids.length} value={outcomes.size} aria-label="Progress" />
          <span>
            {formatCount(outcomes.size)} of {formatCount(ids.length)}
          </span>
        </>
      )}
      <button type="button" onClick={openProgress}>
        Show
      </button>
      {!isRunning.value && (
        <button type="button" onClick={dismiss}>
          Dismiss
        </button>
      )}
    </section>
  )
}

const dismiss = (): void => {
  closeBulk()
  // The button is gone with the line.
  document.querySelector<HTMLElement>('#main')?.focus()
}
