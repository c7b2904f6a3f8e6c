import { type Filter, matches } from '#console/state/filter.ts'
import { groupByReason, type ReasonGroup } from '#console/state/groups.ts'
import type { Row } from '#console/state/row.ts'
import { type Point, toProgress } from './progress.ts'
import { type Stage, stageOf } from './stages.ts'
import { type Bin, isReadyAgain, quantile, startTimeMs, toBins } from './times.ts'

/**
 * The start of the present run of a world. `ms` is its start time, or the time since the request of a run that still starts. Undefined for any other run.
 */
export type Start = { readonly row: Row; readonly stage: Stage; readonly ms: number | undefined }

/** Returns the start of the present run of a world. */
export const toStart = (row: Row, nowMs: number): Start => {
  const stage = stageOf(row)
  const soFarMs = isUnderWay(stage) ? Math.max(0, nowMs - row.startedAtMs) : undefined
  return { row, stage, ms: startTimeMs(row) ?? soFarMs }
}

const isUnderWay = (stage: Stage): boolean => stage === 'pending' || stage === 'starting'

/** The progress of the present runs of worlds. Times are milliseconds. */
export type Launch = {
  /** Number of worlds that the filter selects, with a run that counts or without. */
  readonly selected: number
  /** Number of runs that count. */
  readonly total: number
  readonly counts: Readonly<Record<Stage, number>>
  /** Number of worlds that the filter selects whose start waits for a limit, so that their run has not begun. */
  readonly waiting: number
  /**
   * The start times of the worlds that are ready, p50 and p95 by nearest rank. Beside them are active ones: `again` became ready again,
   * so that their start time is not known, and `notReady` are not ready now.
   */
  readonly times: {
    readonly ready: number
    readonly again: number
    readonly notReady: number
    readonly p50Ms: number
    readonly p95Ms: number
    readonly bins: readonly Bin[]
  }
  /** The slowest worlds that are ready or still start, the slowest first. */
  readonly slowest: readonly Start[]
  readonly reasons: readonly ReasonGroup[]
  /** The progress from the first request until now, or until the last world was ready if none still starts. It leaves out `again`. */
  readonly progress: readonly Point[]
}

/** The most worlds in `slowest`. */
export const maxSlowest = 20

/** Returns the progress of the worlds that a filter selects and whose present run was requested at `fromMs` or later. */
export const toLaunch = ({
  rows,
  filter,
  fromMs,
  nowMs,
}: {
  readonly rows: Iterable<Row>
  readonly filter: Filter
  readonly fromMs: number
  readonly nowMs: number
}): Launch => {
  const starts: Start[] = []
  let [selected, waiting] = [0, 0]
  for (const row of rows) {
    if (!matches(filter, row)) continue
    selected += 1
    if (row.reason === 'StartWaits') waiting += 1
    if (row.startedAtMs >= fromMs) starts.push(toStart(row, nowMs))
  }
  const counts = countStages(starts)
  const ready = starts.filter(({ row }) => startTimeMs(row) !== undefined)
  return {
    selected,
    total: starts.length,
    counts,
    waiting,
    times: {
      ...toFigures(Float64Array.from(ready, ({ ms = 0 }) => ms).sort()),
      again: starts.filter(({ row }) => isReadyAgain(row)).length,
      notReady: starts.filter(({ row, stage }) => stage === 'active' && row.readySinceMs === 0).length,
    },
    slowest: slowestOf(starts),
    reasons: groupByReason(starts.map(({ row }) => row)),
    progress: toProgress(
      starts.map(({ row }) => row.startedAtMs),
      ready.map(({ row }) => row.readySinceMs),
      counts.pending + counts.starting > 0 ? nowMs : undefined,
    ),
  }
}

const countStages = (starts: readonly Start[]): Record<Stage, number> => {
  const counts = { pending: 0, starting: 0, active: 0, error: 0, ended: 0 }
  for (const { stage } of starts) counts[stage] += 1
  return counts
}

const toFigures = (sortedMs: Float64Array) => ({
  ready: sortedMs.length,
  p50Ms: quantile(sortedMs, 0.5),
  p95Ms: quantile(sortedMs, 0.95),
  bins: toBins(sortedMs),
})

/** Sorts the times alone first, since few of many starts can be among the slowest. */
const slowestOf = (starts: readonly Start[]): Start[] => {
  const times = Float64Array.from(starts.flatMap(({ ms }) => ms ?? [])).sort()
  const leastMs = times.at(-maxSlowest) ?? 0
  return starts
    .filter(({ ms = -1 }) => ms >= leastMs)
    .sort((a, b) => (b.ms ?? 0) - (a.ms ?? 0) || (a.row.id < b.row.id ? -1 : 1))
    .slice(0, maxSlowest)
}
