import { toInstant } from '#operator/lifecycle/duration.ts'
import { restartBackoffMs } from '#operator/lifecycle/restartBudget.ts'
import type { Loss } from '#operator/pods/diagnosis.ts'
import { plainSettings, runtimeSettings } from '#shared/domain/world.ts'
import { withDefined } from '#shared/optional.ts'
import { scaleCpu, scaleMemory } from '#shared/quantities.ts'
import type { RunEndReason, World, WorldRun } from '#shared/resources/world.ts'
import type { WorldSettings } from './settings.ts'

/** The longest message of a recorded failure, in UTF-16 code units. */
export const maxFailureLength = 2_048

/**
 * Returns the id of the run that is wanted while the state is Running. `spec.runId` comes first. Without it, the id that the
 * operator generated is kept until `state: Stopped` ends the run; a run that ended by itself is not started again.
 */
export const wantedRunId = (world: World, newRunId: () => string): string => {
  if (world.spec.runId !== undefined) return world.spec.runId
  const { run, runId } = world.status ?? {}
  if (runId !== undefined && runId !== run?.id) return runId
  return run === undefined || run.endReason === 'Stopped' ? newRunId() : run.id
}

/** Returns a new run with everything that its pods are built from. Later edits of the spec act on the next run. */
export const captureRun = (world: World, id: string, settings: WorldSettings, nowMs: number): WorldRun => {
  const { runtime, scaling, networking, compute } = world.spec
  return {
    id,
    startedAt: world.spec.startedAt ?? toInstant(nowMs),
    image: runtime.image ?? settings.defaultServerImage,
    ...withDefined({ contentId: runtime.contentId }),
    profile: scaling.profile,
    ...runtimeSettings.parse(runtime),
    capacity: runtime.capacity ?? settings.profiles[scaling.profile].capacity,
    probes: runtime.probes,
    args: runtime.args,
    strategy: resolveStrategy(networking.strategy, settings),
    resources: profileResources(scaling.profile, settings),
    compute,
    ...plainSettings.parse(world.spec),
    restarts: 0,
  }
}

/** Returns the limits and requests of a profile, as configured now. */
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

/** In a captured run, Default means the address of the pod. */
const resolveStrategy = (strategy: WorldRun['strategy'], { defaultStrategy }: WorldSettings): WorldRun['strategy'] => {
  if (strategy !== 'Default') return strategy
  return defaultStrategy === 'PodIP' ? 'Default' : defaultStrategy
}

/** Returns the run with its end. The time of a recorded end is not changed. */
export const endRun = (run: WorldRun, endReason: RunEndReason, endMessage: string, nowMs: number): WorldRun => ({
  ...run,
  endedAt: run.endedAt ?? toInstant(nowMs),
  endReason,
  endMessage,
})

/**
 * Returns the run with a lost pod counted: as a failure, or as a disruption, which does not count against the restart budget.
 * Earlier losses no longer count once the server was Ready for `restartRefillMs`.
 */
export const countLoss = (
  { exitCode: _, ...run }: WorldRun,
  podUid: string,
  { reason, message, disrupted, exitCode }: Loss,
  { settings, nowMs }: { settings: WorldSettings; nowMs: number },
): WorldRun => {
  // Only a server that was Ready after the last loss counts as recovered.
  const readyForMs = run.readyAt !== undefined && run.failure === undefined ? nowMs - Date.parse(run.readyAt) : 0
  const isRefilled = readyForMs >= settings.restartRefillMs
  const restarts = isRefilled ? 0 : run.restarts
  const disruptions = isRefilled ? 0 : (run.disruptions ?? 0)
  return {
    ...run,
    restarts: restarts + (disrupted ? 0 : 1),
    ...(disrupted || disruptions > 0 ? { disruptions: disruptions + (disrupted ? 1 : 0) } : {}),
    countedPodUid: podUid,
    failedAt: toInstant(nowMs),
    ...withDefined({ exitCode }),
    failure: {
      // The second failure in a row, and each further one, is a crash loop, whatever the exit code.
      reason: reason === 'ServerFailed' && restarts > 0 ? 'CrashLoop' : reason,
      message: message.slice(0, maxFailureLength),
    },
  }
}

/** Returns the run with the time at which its server became Ready, and without its last failure. */
export const markReady = (
  { failure: _, readyPodUid: __, ...run }: WorldRun,
  readyAt: string,
  podUid: string | undefined,
): WorldRun => ({ ...run, readyAt, ...withDefined({ readyPodUid: podUid }) })

/** Returns when the next pod of a run may be created, in epoch milliseconds; 0 if none was lost. */
export const nextPodAtMs = (run: WorldRun, settings: WorldSettings): number =>
  run.failedAt === undefined
    ? 0
    : Date.parse(run.failedAt) + restartBackoffMs(run.restarts + (run.disruptions ?? 0), settings)

/** Reports whether a run ended with the phase Error. */
export const hasEndedInError = ({ endReason }: WorldRun): boolean =>
  endReason === 'StartDeadline' || endReason === 'RestartBudget'
