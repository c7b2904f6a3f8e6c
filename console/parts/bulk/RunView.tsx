import { computed, useSignal } from '@preact/signals'
import { hasNewRun } from '#console/state/bulk/plan.ts'
import { countOutcomes, idsWith } from '#console/state/bulk/progress.ts'
import { groupResults, type ResultGroup, writeBulkReport } from '#console/state/bulkReport.ts'
import { formatCount, formatDuration } from '#console/state/format.ts'
import { launchOf } from '#console/state/launchLink.ts'
import { explainFailure } from '#console/state/texts.ts'
import { type Bulk, bulk, stopBulk } from '../../live/bulk.ts'
import { copyText } from '../../live/clipboard.ts'
import { now, rows } from '../../live/fleet.ts'
import { hrefOf } from '../../live/location.ts'
import { FaultNotice } from '../FailureNotice.tsx'
import { Said } from '../pieces.tsx'
import { canRepeat, lastDraft, openRepeat } from './opened.ts'
import { CloseButton, Title, Worlds } from './parts.tsx'
import { describeCounts, describeEnd, describeRepeat, describeRun, isAllDone } from './words.ts'

type Props = { readonly current: Bulk }

/** The step after the start: the progress, then the result. */
export const RunView = ({ current }: Props) => (
  <>
    {current.state === 'ended' ? <End current={current} /> : <Running current={current} />}
    <Results current={current} />
  </>
)

const Running = ({ current }: Props) => {
  const { progress, wait, state } = current
  const leftMs = (wait?.untilMs ?? 0) - now.value
  return (
    <>
      <Title text={describeRun(current)} />
      <progress max={progress.ids.length} value={progress.outcomes.size} aria-label="Progress" />
      <p>{describeCounts(current)}</p>
      <p>
        <span role="status">{wait?.text}</span>
        {leftMs > 0 && ` Next request in ${formatDuration(leftMs)}.`}
      </p>
      {/* Away from the button that started the action, whose second click would stop it. */}
      <div class="buttons bulk-running">
        <CloseButton label="Continue in the background" />
        <button type="button" aria-disabled={state === 'stopping'} onClick={stopBulk}>
          {state === 'stopping' ? 'Stopping…' : 'Stop sending'}
        </button>
      </div>
    </>
  )
}

const End = ({ current }: Props) => {
  const { fault } = current
  return (
    <>
      <Title text={describeEnd(current)} />
      {fault !== undefined && <FaultNotice fault={{ ...explainFailure(fault), isMissing: false }} />}
      <RestartNote current={current} />
      {!canRepeat.value && !isAllDone(current) && <p>The fleet of its organization can repeat this action.</p>}
      <div class="buttons">
        {canRepeat.value && <Repeats current={current} />}
        <ReportButton current={current} />
        <LaunchLink current={current} />
        <CloseButton label="Close" />
      </div>
    </>
  )
}

const repeats = ['failed', 'unknown', 'skipped'] as const

/** The buttons that lead to a plan for the worlds that are not done. */
const Repeats = ({ current: { progress } }: Props) =>
  repeats.map((outcome) => {
    const ids = outcome === 'unknown' ? openIds.value : idsWith(progress, outcome)
    if (ids.length === 0) return null
    return (
      <button key={outcome} type="button" onClick={() => openRepeat(ids)}>
        {describeRepeat(outcome, { kind: progress.kind, count: ids.length })}
      </button>
    )
  })

/** The worlds without a known result, of a restart only those that show no run that began after it. */
const openIds = computed((): readonly string[] => {
  const current = bulk.value
  if (current === undefined) return []
  const ids = idsWith(current.progress, 'unknown')
  if (current.progress.kind !== 'restart') return ids
  const before = lastDraft.value?.rows
  return ids.filter((id) => {
    const row = rows.value.get(id)
    return row !== undefined && !hasNewRun(row, before)
  })
})

const RestartNote = ({ current: { progress } }: Props) => {
  const unknown = countOutcomes(progress).unknown
  if (progress.kind !== 'restart' || unknown === 0 || !canRepeat.value) return null
  const left = openIds.value.length
  return (
    <p>
      No answer tells the result of {formatCount(unknown, 'world')}. So far {formatCount(unknown - left)} of them{' '}
      {unknown - left === 1 ? 'has' : 'have'} a new run or {unknown - left === 1 ? 'is' : 'are'} gone.
      {left > 0 && ' The button restarts only the others. One whose new run is not shown yet restarts twice.'}
    </p>
  )
}

/** The launch of what was started, with the filter at that time. */
const LaunchLink = ({ current: { plan, progress, startedAtMs } }: Props) => {
  const draft = lastDraft.value
  const isStart = plan.kind === 'start' || plan.kind === 'restart'
  if (!isStart || draft === undefined || countOutcomes(progress).done === 0) return null
  const { projectId } = draft
  const { organizationId } = plan
  const { filter, isMore } = launchOf({ filter: draft.filter, ids: plan.ids, rows: draft.rows.values(), projectId })
  const since = new Date(startedAtMs).toISOString()
  return (
    <>
      <a href={hrefOf({ page: 'launch', organizationId, worldId: '', projectId, filter, since })}>Watch the launch</a>
      {isMore && <span class="muted">It also counts other worlds that start meanwhile.</span>}
    </>
  )
}

const Results = ({ current }: Props) => (
  <>
    {groupResults(current.progress).map((group) => (
      // The number in the title grows, and an open list stays open.
      <Result key={group.title.replace(/^\S+ /, '') + (group.problem?.detail ?? '')} current={current} {...group} />
    ))}
  </>
)

const Result = ({ current, title, ids, problem }: ResultGroup & Props) => {
  const worlds = { ids, organizationId: current.plan.organizationId, before: lastDraft.value?.rows }
  if (problem === undefined) return <Worlds summary={title} {...worlds} />
  return (
    <section class="notice" aria-label={title}>
      <p>
        <strong>{title}.</strong> {problem.remedy}
      </p>
      <p class="small">
        <Said text={`${problem.code}: ${problem.detail}`} />
      </p>
      <Worlds summary={formatCount(ids.length, 'world')} {...worlds} />
    </section>
  )
}

const ReportButton = ({ current }: Props) => {
  const before = lastDraft.value?.rows
  const nameOf = (id: string): string => (rows.peek().get(id) ?? before?.get(id))?.name ?? ''
  const write = (): string =>
    writeBulkReport({
      title: describeEnd(current),
      groups: groupResults(current.progress),
      nameOf,
      nowMs: Date.now(),
    })
  const outcome = useSignal('')
  return (
    <>
      <button
        type="button"
        onClick={async () => {
          outcome.value = (await copyText(write())) ? 'Copied' : 'Not copied: the browser refused it'
        }}
      >
        Copy as Markdown
      </button>
      <span role="status" class="muted small">
        {outcome.value}
      </span>
    </>
  )
}
