import { toInstant } from '#operator/lifecycle/duration.ts'
import { restartBackoffMs } from '#operator/lifecycle/restartBudget.ts'
import type { Loss } from '#operator/pods/diagnosis.ts'
import { plainSettings, runtimeSettings } from '#shared/domain/world.ts'
import { withDefined } from '#shared/optional.ts'
import { scaleCpu, scaleMemory } from '#shared/quantities.ts'
import type { GrantedRun, World, WorldRun } from '#shared/resources/world.ts'
import type { RunEndReason } from '#shared/why/endings.ts'
import { findGrant } from './grant.ts'
import type { WorldSettings } from './settings.ts'
import type { PlanInput } from './step.ts'

/** The longest message of a recorded failure, in UTF-16 code units. */
export const maxFailureLength = 2_048

/** The run of a World whose state is Running, and whether it is not in the status yet. */
type WantedRun = { readonly run: WorldRun; readonly isNew: boolean }

/**
 * Returns the run that is wanted while the state is Running: the recorded one, or one that begins now. Returns undefined if no
 * run may begin: in the namespace of an organization, each run needs a grant of the API.
 */
export const findWantedRun = (input: PlanInput): WantedRun | undefined => {
  const { world, policy } = input
  const recorded = world.status?.run
  const id = policy.organization === undefined ? wantedRunId(input) : grantedRunId(input)
  if (id === undefined) return undefined
  return recorded?.id === id ? { run: recorded, isNew: false } : { run: captureRun(input, id), isNew: true }
}

/**
 * Returns the id of a run that needs no grant. `spec.runId` comes first. Without it, the id that the operator generated is kept
 * until `state: Stopped` ends or dismisses the run; a run that ended by itself is not started again.
 */
const wantedRunId = ({ world, newRunId }: PlanInput): string => {
  if (world.spec.runId !== undefined) return world.spec.runId
  const { run, runId } = world.status ?? {}
  if (runId !== undefined && runId !== run?.id) return runId
  return run === undefined || isDismissed(run) ? newRunId() : run.id
}

/**
 * Returns the id of the grant if no run is recorded or the spec names another one, and otherwise that of the recorded run, unless a stop
 * came after it.
 */
const grantedRunId = ({ world, policy }: PlanInput): string | undefined => {
  const { run } = world.status ?? {}
  if (run === undefined || run.id !== (world.spec.runId ?? run.id)) return findGrant(world, policy)?.id
  return isDismissed(run) ? undefined : run.id
}

/** Reports whether the state was Stopped since the run began, so that the next Running begins another run. */
export const isDismissed = ({ endReason, dismissed }: WorldRun): boolean =>
  endReason === 'Stopped' || dismissed === true

/**
 * Returns a new run with everything that its pods are built from. The values are those of its grant, or of the spec if there is no
 * grant. Later edits of the spec act on the next run.
 */
export const captureRun = (
  { world, policy, settings, nowMs }: Pick<PlanInput, 'world' | 'policy' | 'settings' | 'nowMs'>,
  id: string,
): WorldRun => {
  const granted = findGrant(world, policy)
  const { image, strategy, ...fields } = granted?.id === id ? withoutUid(granted) : readSpec(world, settings)
  return {
    ...fields,
    id,
    startedAt: fields.startedAt ?? toInstant(nowMs),
    image: image ?? settings.defaultServerImage,
    strategy: resolveStrategy(strategy, settings),
    resources: profileResources(fields.profile, settings),
    restarts: 0,
  }
}

const withoutUid = ({ uid: _, ...run }: GrantedRun) => run

/** Returns the settings of a run from the spec. */
const readSpec = ({ spec }: World, { profiles }: WorldSettings) => {
  const { runtime, scaling, networking, compute } = spec
  return {
    ...withDefined({ startedAt: spec.startedAt, image: runtime.image, contentId: runtime.contentId }),
    profile: scaling.profile,
    ...runtimeSettings.parse(runtime),
    capacity: runtime.capacity ?? profiles[scaling.profile].capacity,
    probes: runtime.probes,
    args: runtime.args,
    strategy: networking.strategy,
    ports: networking.ports,
    compute,
    ...plainSettings.parse(spec),
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

/** Returns the run with its end and the reason for it. A recorded end is final. */
export const endRun = (run: WorldRun, endReason: RunEndReason, endMessage: string, nowMs: number): WorldRun =>
  run.endReason === undefined ? { ...run, endedAt: toInstant(nowMs), endReason, endMessage } : run

/** Returns the run after a stop: ended, or dismissed if it had ended before. */
export const stopRun = (run: WorldRun, endMessage: string, nowMs: number): WorldRun =>
  run.endReason === undefined || run.endReason === 'Stopped'
    ? endRun(run, 'Stopped', endMessage, nowMs)
    : { ...run, dismissed: true }

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

/** Reports whether a run ended in an error. */
export const hasEndedInError = ({ endReason }: WorldRun): boolean =>
  endReason === 'StartDeadline' || endReason === 'RestartBudget'
