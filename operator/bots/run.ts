import { toInstant } from '#operator/lifecycle/duration.ts'
import { restartBackoffMs } from '#operator/lifecycle/restartBudget.ts'
import type { Pod } from '#operator/pods/pod.ts'
import { ranForMs } from '#operator/pods/podState.ts'
import { withDefined } from '#shared/optional.ts'
import type { BotRun } from '#shared/resources/botDeployment.ts'
import { formatIndexes, parseIndexes } from './indexes.ts'
import { restartsOf } from './pod.ts'
import type { BotSettings } from './settings.ts'

/** The next restart of a failed bot: its number, and the time before which it does not happen. */
export type Restart = { readonly restarts: number; readonly afterMs: number }

/** The recorded ends of the bots of a run, by index. */
export type Ends = {
  readonly completed: ReadonlySet<number>
  /** The bots whose restart budget is used up. */
  readonly failed: ReadonlySet<number>
  readonly restarting: ReadonlyMap<number, Restart>
  /** The last error. */
  readonly failure: string | undefined
}

/** Returns the indexes of the bots that should exist: the lowest `allowed` ones that are neither completed nor failed. */
export const openIndexes = ({ completed, failed }: Ends, allowed: number): number[] =>
  Array.from({ length: allowed }, (_, index) => index).filter((index) => !completed.has(index) && !failed.has(index))

/** Parses the ends in a run. */
export const parseEnds = (run: BotRun): Ends => ({
  completed: parseIndexes(run.completedIndexes),
  failed: parseIndexes(run.failedIndexes),
  restarting: new Map(
    (run.restarting ?? []).flatMap(({ indexes, restarts, after }) =>
      [...parseIndexes(indexes)].map((index) => [index, { restarts, afterMs: Date.parse(after) }] as const),
    ),
  ),
  failure: run.failure,
})

/** Returns the run with these ends. Those of bots beyond the count are dropped, so that such a bot can be created anew. */
export const recordEnds = (run: BotRun, ends: Ends, count: number): BotRun => {
  const { completedIndexes: _, failedIndexes: __, restarting: ___, failure: ____, ...rest } = run
  const formatWithin = (indexes: ReadonlySet<number>) => formatIndexes([...indexes].filter((index) => index < count))
  const failedIndexes = formatWithin(ends.failed)
  const restarting = groupRestarts([...ends.restarting].filter(([index]) => index < count))
  const hasFailures = failedIndexes !== undefined || restarting.length > 0
  return {
    ...rest,
    ...withDefined({
      completedIndexes: formatWithin(ends.completed),
      failedIndexes,
      restarting: restarting.length === 0 ? undefined : restarting,
      failure: hasFailures ? ends.failure?.slice(0, 2_048) : undefined,
    }),
  }
}

/** Groups bots with equal restarts, so that ten thousand bots that fail together need one entry. */
const groupRestarts = (entries: readonly (readonly [number, Restart])[]): NonNullable<BotRun['restarting']> => {
  const byKey = new Map<string, { restarts: number; afterMs: number; indexes: number[] }>()
  for (const [index, { restarts, afterMs }] of entries) {
    const key = `${afterMs}/${restarts}`
    const group = byKey.get(key) ?? { restarts, afterMs, indexes: [] }
    group.indexes.push(index)
    byKey.set(key, group)
  }
  return [...byKey.values()]
    .sort((a, b) => a.afterMs - b.afterMs || a.restarts - b.restarts)
    .map(({ restarts, afterMs, indexes }) => ({
      indexes: formatIndexes(indexes) ?? '',
      restarts,
      after: toInstant(afterMs),
    }))
}

/** Returns the restart after the failure of a bot, or undefined if its restart budget is used up. */
export const nextRestart = (pod: Pod, settings: BotSettings, nowMs: number): Restart | undefined => {
  const restarts = ranForMs(pod, 'bot') >= settings.restartRefillMs ? 1 : restartsOf(pod) + 1
  if (restarts > settings.restartBudget) return undefined
  return { restarts, afterMs: nowMs + restartBackoffMs(restarts, settings) }
}

/** Returns the run with its end, which cancels all restarts. A recorded end is not changed. */
export const endRun = (run: BotRun, endReason: NonNullable<BotRun['endReason']>, nowMs: number): BotRun => {
  if (run.endReason !== undefined) return run
  const { restarting: _, ...rest } = run
  return { ...rest, endedAt: toInstant(nowMs), endReason }
}
