import { useSignal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import type { WorldDeployment } from '#client/operations.ts'
import { formatCount } from '#console/state/format.ts'
import { mayGoOn } from '#console/state/logPlan.ts'
import { toVisible } from '#console/state/visible.ts'
import { rowOf } from '../../live/fleet.ts'
import { goTo, place } from '../../live/location.ts'
import { type LogReader, openLog } from '../../live/log.ts'
import { Loaded, writeTime } from '../pieces.tsx'
import { useEnd } from '../useEnd.ts'
import { useLoader } from '../useLoader.ts'
import { LogNote } from './LogNote.tsx'
import { LogLinesView } from './LogView.tsx'
import type { PageState } from './page.ts'

/** The log of a run of a world, which is followed. */
export const Logs = ({ page }: { readonly page: PageState }) => {
  const runs = useLoader(page.reads.runs, page.version)
  const { run } = place.value
  return (
    <Loaded slot={page.world.slot.value} what="The world" onRetry={page.world.load}>
      {({ status: { runId } }) =>
        run === '' && runId === undefined ? (
          <p class="empty">This world was never started, so it has no log.</p>
        ) : (
          <>
            <RunChoice runs={runs.slot.value.value?.items ?? []} present={run} />
            {/* A new run of the world has a log of its own. */}
            <Log key={run === '' ? `newest ${runId}` : run} page={page} deployment={run} />
          </>
        )
      }
    </Loaded>
  )
}

const maxChoices = 100

const RunChoice = ({ runs, present }: { readonly runs: readonly WorldDeployment[]; readonly present: string }) => {
  const choices = runs.slice(0, maxChoices)
  return (
    <p class="run-choice">
      <label for="run">Run</label>{' '}
      <select
        id="run"
        value={present}
        onChange={(event) => goTo({ run: event.currentTarget.value }, { isReplaced: true })}
      >
        <option value="">Newest run</option>
        {present !== '' && choices.every(({ id }) => id !== present) && (
          <option value={present}>{toVisible(present)}</option>
        )}
        {choices.map(({ id, createdAt, status }) => (
          <option key={id} value={id}>
            {writeTime(createdAt)}, {status}
          </option>
        ))}
      </select>
    </p>
  )
}

const Log = ({ page, deployment }: { readonly page: PageState; readonly deployment: string }) => {
  const { projectId, worldId, openStream } = page
  const [log] = useState(() => openLog({ openStream, projectId, worldId, deployment }))
  const query = useSignal('')
  useEnd(log.close)
  useEffect(() => page.version.subscribe(() => goOnIfNew(log, { worldId, isNewestRun: deployment === '' })), [log])
  const version = log.version.value
  const lines = log.lines.value
  return (
    <section class="log" aria-label="Log">
      <LogNote log={log} isEmpty={lines.length === 0} />
      {lines.dropped > 0 && (
        <p class="muted small">{formatCount(lines.dropped, 'older line')} not kept here. curl reads the whole log.</p>
      )}
      {lines.length > 0 && <LogLinesView lines={lines} version={version} query={query} />}
    </section>
  )
}

/** Called for each version of the world: a server may have started. */
const goOnIfNew = (
  { state, goOn }: LogReader,
  { worldId, isNewestRun }: { readonly worldId: string; readonly isNewestRun: boolean },
): void => {
  const now = state.peek()
  const isRunning = ['Starting', 'Active'].includes(rowOf(worldId)?.phase ?? '')
  if (now.kind === 'ended' && mayGoOn(now.notice, { isNewestRun, isRunning })) goOn()
}
