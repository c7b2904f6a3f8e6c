import type { Diagnosis } from '#operator/refusal.ts'
import type { RunEndReason, World, WorldRun } from '#shared/resources/world.ts'
import { scaleCpu, scaleMemory } from './quantities.ts'
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
  const { runtime, scaling, networking, compute } = world.spec
  return {
    id,
    startedAt: world.spec.startedAt ?? toInstant(nowMs),
    image: runtime.image ?? settings.defaultServerImage,
    ...(runtime.contentId === undefined ? {} : { contentId: runtime.contentId }),
    profile: scaling.profile,
    mapName: runtime.mapName,
    capacity: runtime.capacity ?? settings.profiles[scaling.profile].capacity,
    probes: runtime.probes,
    args: runtime.args,
    strategy: resolveStrategy(networking.strategy, settings),
    resources: profileResources(scaling.profile, settings),
    compute,
    restarts: 0,
  }
}

/** What a profile stands for now. */
export const profileResources = (
  profile: WorldRun['profile'],
  settings: WorldSettings,
): NonNullable<WorldRun['resources']> => {
  const { memoryLimit, cpuLimit } = settings.profiles[profile]
  return {
    memoryLimit,
    cpuLimit,
    memoryRequest: scaleMemory(memoryLimit, settings.memoryRequestRatio),
    cpuRequest: scaleCpu(cpuLimit, settings.cpuRequestRatio),
  }
}

/** In a frozen run, Default is the address of the pod. */
const resolveStrategy = (strategy: WorldRun['strategy'], { defaultStrategy }: WorldSettings): WorldRun['strategy'] => {
  if (strategy !== 'Default') return strategy
  return defaultStrategy === 'PodIP' ? 'Default' : defaultStrategy
}

/** The run, over, with why it ended as a word and a sentence. An end that is already recorded keeps its time. */
export const endRun = (run: WorldRun, endReason: RunEndReason, endMessage: string, nowMs: number): WorldRun => ({
  ...run,
  endedAt: run.endedAt ?? toInstant(nowMs),
  endReason,
  endMessage,
})

/**
 * Counts a lost pod once, however often it is seen: as a failure, or as a disruption, which costs no restart. What was
 * lost before a long time of Ready is forgotten.
 */
export const countLoss = (
  run: WorldRun,
  podUid: string,
  { reason, message, disrupted }: Diagnosis & { readonly disrupted: boolean },
  { settings, nowMs }: { settings: WorldSettings; nowMs: number },
): WorldRun => {
  // A server that was not Ready since the loss before this one has earned nothing.
  const readyForMs = run.readyAt !== undefined && run.failure === undefined ? nowMs - Date.parse(run.readyAt) : 0
  const refilled = readyForMs >= settings.restartRefillMs
  const restarts = refilled ? 0 : run.restarts
  const disruptions = refilled ? 0 : (run.disruptions ?? 0)
  return {
    ...run,
    restarts: restarts + (disrupted ? 0 : 1),
    ...(disrupted || disruptions > 0 ? { disruptions: disruptions + (disrupted ? 1 : 0) } : {}),
    countedPodUid: podUid,
    failedAt: toInstant(nowMs),
    failure: {
      // One failure may be an accident; the second in a row is a loop, whatever its exit code.
      reason: reason === 'ServerFailed' && restarts > 0 ? 'CrashLoop' : reason,
      message: message.slice(0, 2048),
    },
  }
}

/** The run with its server Ready since then; what it was lost by before is mended. */
export const readyRun = (
  { failure: _, readyPodUid: __, ...run }: WorldRun,
  readyAt: string,
  podUid: string | undefined,
): WorldRun => ({ ...run, readyAt, ...(podUid === undefined ? {} : { readyPodUid: podUid }) })

/** When the next pod of a run may be made, in epoch milliseconds; 0 where nothing was lost. */
export const nextPodAtMs = (run: WorldRun, settings: WorldSettings): number => {
  if (run.failedAt === undefined) return 0
  const losses = run.restarts + (run.disruptions ?? 0)
  const backoffMs = settings.restartBackoffMs * 2 ** Math.min(losses - 1, 20)
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
