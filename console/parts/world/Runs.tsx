import type { WorldDeployment } from '#client/operations.ts'
import { formatCount } from '#console/state/format.ts'
import { toVisible } from '#console/state/visible.ts'
import { hrefOf } from '../../live/location.ts'
import type { Runs as AllRuns } from '../../live/world.ts'
import { Loaded, Said, Scrolled, Time, writeTime } from '../pieces.tsx'
import { useLoader } from '../useLoader.ts'
import type { PageState } from './page.ts'

const endTexts: Readonly<Record<NonNullable<WorldDeployment['endReason']>, string>> = {
  Stopped: 'Stopped by a user',
  Expired: 'Its duration was over',
  Idle: 'Nobody was in it',
  Completed: 'The server exited with code 0',
  StartDeadline: 'Not ready in time',
  RestartBudget: 'Failed too often',
  Superseded: 'Replaced by the next run',
}

const columns = [
  'Status',
  'Log',
  'Requested',
  'Started',
  'Ready',
  'Ended',
  'End',
  'Restarts',
  'Image and deployment',
] as const

/** The rows that are drawn. The API keeps the newest 1,000 runs of a world. */
const maxShown = 200

/** The runs of a world, newest first. */
export const Runs = ({ page }: { readonly page: PageState }) => {
  const { slot, load } = useLoader(page.reads.runs, page.version)
  return (
    <Loaded slot={slot.value} what="The runs" onRetry={load}>
      {(runs) => (runs.items.length === 0 ? <p class="empty">This world was never started.</p> : table(runs))}
    </Loaded>
  )
}

const table = ({ items, hasMore }: AllRuns) => (
  <Scrolled label="Table of runs">
    {hasMore && (
      <p class="notice">
        These are the oldest {formatCount(items.length)} runs. Newer ones exist; GET /api/worlds/…/deployments/ lists
        them.
      </p>
    )}
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
        {items.slice(0, maxShown).map((run) => (
          <Row key={run.id} run={run} />
        ))}
      </tbody>
    </table>
    {items.length > maxShown && (
      <p class="muted small">
        The newest {formatCount(maxShown)} of {formatCount(items.length)} runs.
      </p>
    )}
  </Scrolled>
)

const Row = ({ run }: { readonly run: WorldDeployment }) => (
  <tr>
    <td>{run.status === 'Error' ? <span class="is-warning">▲ Error</span> : run.status}</td>
    <td>
      <a href={hrefOf({ tab: 'logs', run: run.id })} aria-label={`Log of the run of ${writeTime(run.createdAt)}`}>
        Log
      </a>
    </td>
    <td class="run-requested">
      <Time at={run.createdAt} />
      {run.wokenBy !== undefined && (
        <span class="muted small">
          Woken by <Said text={run.wokenBy} />
        </span>
      )}
    </td>
    <td>
      <Time at={run.startedAt} isTimeAlone />
    </td>
    <td>
      <Time at={run.readyAt} isTimeAlone={run.readyAt?.slice(0, 10) === run.createdAt.slice(0, 10)} />
    </td>
    <td>
      <Time at={run.endedAt} isTimeAlone={run.endedAt?.slice(0, 10) === run.createdAt.slice(0, 10)} />
    </td>
    <td class="run-end">
      {run.endReason !== undefined && <span title={run.endReason}>{endTexts[run.endReason]}</span>}
      {run.exitCode !== undefined && <span class="muted small">Exit code {run.exitCode}</span>}
    </td>
    <td class="number">{formatCount(run.restarts)}</td>
    <td class="run-image">
      <code class="image" title={toVisible(run.image ?? '')}>
        <Said text={run.image ?? ''} />
      </code>
      <code class="id">{run.id}</code>
    </td>
  </tr>
)
