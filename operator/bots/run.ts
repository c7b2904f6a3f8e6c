import type { BotDeployment, BotRun } from '#shared/resources/botDeployment.ts'
import { ranForMs } from './diagnosis.ts'
import { formatIndexes, parseIndexes } from './indexes.ts'
import { type BotPod, restartsOf } from './pod.ts'
import type { BotSettings } from './settings.ts'

/** A failed bot that waits to be made again. */
export type Restart = { readonly restarts: number; readonly afterMs: number }

/** What is remembered of the bots of a run, by index. */
export type Memory = {
  readonly completed: ReadonlySet<number>
  readonly failed: ReadonlySet<number>
  readonly restarting: ReadonlyMap<number, Restart>
  readonly failure: string | undefined
}

/** The lowest `allowed` indexes without those that ended or were given up: the bots that are to exist. */
export const openIndexes = ({ completed, failed }: Memory, allowed: number): number[] =>
  Array.from({ length: allowed }, (_, index) => index).filter((index) => !completed.has(index) && !failed.has(index))

/** Reads what a run remembers. */
export const memoryOf = (run: BotRun): Memory => ({
  completed: parseIndexes(run.completedIndexes),
  failed: parseIndexes(run.failedIndexes),
  restarting: new Map(
    (run.restarting ?? []).flatMap(({ indexes, restarts, after }) =>
      [...parseIndexes(indexes)].map((index) => [index, { restarts, afterMs: Date.parse(after) }] as const),
    ),
  ),
  failure: run.failure,
})

/** The run with this memory. Bots beyond the count are forgotten: made again later, they are new ones. */
export const remember = (run: BotRun, memory: Memory, count: number): BotRun => {
  const { completedIndexes: _, failedIndexes: __, restarting: ___, failure: ____, ...rest } = run
  const within = (indexes: ReadonlySet<number>) => formatIndexes([...indexes].filter((index) => index < count))
  const [completedIndexes, failedIndexes] = [within(memory.completed), within(memory.failed)]
  const restarting = groups([...memory.restarting].filter(([index]) => index < count))
  const troubled = failedIndexes !== undefined || restarting.length > 0
  return {
    ...rest,
    ...(completedIndexes === undefined ? {} : { completedIndexes }),
    ...(failedIndexes === undefined ? {} : { failedIndexes }),
    ...(restarting.length === 0 ? {} : { restarting }),
    ...(troubled && memory.failure !== undefined ? { failure: memory.failure.slice(0, 2_048) } : {}),
  }
}

/** Bots that failed together are told together: ten thousand that lose their world at once are one entry. */
const groups = (entries: readonly (readonly [number, Restart])[]): NonNullable<BotRun['restarting']> => {
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

/** What follows from the failure of a bot: the restart that it waits for, or undefined where its budget is used up. */
export const nextRestart = (pod: BotPod, settings: BotSettings, nowMs: number): Restart | undefined => {
  const restarts = ranForMs(pod) >= settings.restartRefillMs ? 1 : restartsOf(pod) + 1
  if (restarts > settings.restartBudget) return undefined
  const backoffMs = Math.min(settings.restartBackoffMaxMs, settings.restartBackoffMs * 2 ** Math.min(restarts - 1, 20))
  return { restarts, afterMs: nowMs + backoffMs }
}

/** When the duration of a run is over, in epoch milliseconds; Infinity where it has none. */
export const expiresAtMs = ({ spec }: BotDeployment, run: BotRun): number =>
  spec.durationMinutes === undefined
    ? Number.POSITIVE_INFINITY
    : Date.parse(run.startedAt) + spec.durationMinutes * 60_000

/** The run, over. An end that is already recorded stays as it is. */
export const endRun = (run: BotRun, endReason: NonNullable<BotRun['endReason']>, nowMs: number): BotRun => {
  if (run.endReason !== undefined) return run
  // Nobody waits for a restart any more.
  const { restarting: _, ...rest } = run
  return { ...rest, endedAt: toInstant(nowMs), endReason }
}

/** An instant as the API writes it. */
export const toInstant = (ms: number): string => new Date(ms).toISOString()
