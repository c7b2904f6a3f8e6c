import type { RunEndReason, World, WorldRun } from '#shared/resources/world.ts'
import { scalingProfiles } from '#shared/scalingProfiles.ts'
import type { WorldSettings } from './settings.ts'

/**
 * The run that is wanted while the state is Running. `spec.runId` decides where it is given. Otherwise the operator's own
 * choice stands until that run was ended by `state: Stopped`: a run that ended by itself is not started again.
 */
export const wantedRunId = (world: World, newRunId: () => string): string => {
  if (world.spec.runId !== undefined) return world.spec.runId
  const { run, runId } = world.status ?? {}
  if (runId !== undefined && runId !== run?.id) return runId
  return run === undefined || run.endReason === 'Stopped' ? newRunId() : run.id
}

/** A run as it is from its start to its end; later edits of these fields wait for the next one. */
export const freezeRun = (world: World, id: string, settings: WorldSettings, nowMs: number): WorldRun => {
  const { runtime, scaling, networking } = world.spec
  return {
    id,
    startedAt: world.spec.startedAt ?? toInstant(nowMs),
    image: runtime.image ?? settings.defaultServerImage,
    ...(runtime.contentId === undefined ? {} : { contentId: runtime.contentId }),
    profile: scaling.profile,
    mapName: runtime.mapName,
    capacity: runtime.capacity ?? scalingProfiles[scaling.profile].capacity,
    probes: runtime.probes,
    args: runtime.args,
    strategy: networking.strategy,
    restarts: 0,
  }
}

/** The run, over, with why it ended as a word and a sentence. An end that is already recorded keeps its time. */
export const endRun = (run: WorldRun, endReason: RunEndReason, endMessage: string, nowMs: number): WorldRun => ({
  ...run,
  endedAt: run.endedAt ?? toInstant(nowMs),
  endReason,
  endMessage,
})

/** Counts a failed pod once, however often it is seen. Failures before a long time of Ready are forgotten. */
export const countFailure = (run: WorldRun, podUid: string, settings: WorldSettings, nowMs: number): WorldRun => {
  const readyForMs = run.readyAt === undefined ? 0 : nowMs - Date.parse(run.readyAt)
  const earlier = readyForMs >= settings.restartRefillMs ? 0 : run.restarts
  return { ...run, restarts: earlier + 1, countedPodUid: podUid, failedAt: toInstant(nowMs) }
}

/** When the next pod of a run may be made, in epoch milliseconds; 0 where nothing failed. */
export const nextPodAtMs = (run: WorldRun, settings: WorldSettings): number => {
  if (run.failedAt === undefined) return 0
  const backoffMs = settings.restartBackoffMs * 2 ** Math.min(run.restarts - 1, 20)
  return Date.parse(run.failedAt) + Math.min(backoffMs, settings.restartBackoffMaxMs)
}

/** When the duration of a run is over, in epoch milliseconds; Infinity where it has none. */
export const expiresAtMs = (world: World, run: WorldRun): number =>
  world.spec.durationMinutes === undefined
    ? Number.POSITIVE_INFINITY
    : Date.parse(run.startedAt) + world.spec.durationMinutes * 60_000

/** Whether a run ended in a way that a user must look at. */
export const endedInError = (run: WorldRun): boolean =>
  run.endReason === 'StartDeadline' || run.endReason === 'RestartBudget'

/** An instant as the API writes it. */
export const toInstant = (ms: number): string => new Date(ms).toISOString()
