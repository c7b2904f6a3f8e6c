import { readConditions } from '#api/domain/events/conditions.ts'
import { applyPatch, patchColumns } from '#api/domain/worlds/patch.ts'
import type { PatchWorld } from '#api/domain/worlds/schema.ts'
import { explainWait, type Wait } from '#api/domain/worlds/startRules.ts'
import type { LaunchContextRow, Program, WorldRow } from '#api/domain/worlds/table.ts'
import { desiredSpec } from '#api/sync/rows/desired.ts'
import { isAsleep } from '#shared/domain/idle.ts'
import { lastRunIn } from '#shared/domain/phases.ts'
import { plainSettings, runtimeSettings, serverSettings } from '#shared/domain/world.ts'
import type { WorldPhase, WorldState } from '#shared/enumerations.ts'
import { withDefined, without } from '#shared/optional.ts'
import { pausedAnnotation } from '#shared/resources/group.ts'
import {
  type CapturedRun,
  isDrained,
  readWorldSpec,
  validWorldSpec,
  type World,
  type WorldDeploymentStatus,
  type WorldSpec,
  type WorldStatus,
} from '#shared/resources/world.ts'
import { type Merge, refuseAll } from './merge.ts'
import { createObserve, hasChanges, type Verdict } from './observe.ts'
import { hasBuild, mergeWorld, type WorldFacts } from './worldRules.ts'

/** Returns the columns of a world and its launch context for a spec. Columns that a resource does not show stay. */
export const toWorldColumns = (row: WorldRow, context: LaunchContextRow, spec: WorldSpec) => {
  const patched = applyPatch(row, context, toPatch(row, spec))
  return { world: { ...patched.world, ...ownColumns(row, spec) }, context: patched.context }
}

/** Returns the spec that the row pushes once it has the columns for a spec, apart from a new run. */
export const toPushedSpec = (row: WorldRow, spec: WorldSpec): WorldSpec =>
  desiredSpec({ ...row, ...patchColumns(row, toPatch(row, spec)), ...ownColumns(row, spec), state: spec.state })

/** The members of `runtime` that are absent if a spec lacks them. */
const removable = ['durationMinutes', 'capacity', 'query', 'idleStopMinutes', 'wakeOnAccess', 'schedule'] as const

/** Returns the PATCH with the fields of a spec that REST has. Without a capacity, a world has that of its scaling profile. */
const toPatch = (row: WorldRow, spec: WorldSpec): PatchWorld => {
  const { durationMinutes, idleStopMinutes, wakeOnAccess, schedule } = spec
  const settings = serverSettings.parse(spec)
  const description = spec.description === (row.description ?? '') ? {} : { description: spec.description }
  return {
    name: spec.displayName,
    ...description,
    metadata: spec.metadata,
    ...settings,
    compute: { ...row.compute, ...settings.compute },
    networking: { ...settings.networking, scaling: { ...row.networking.scaling, profile: spec.scaling.profile } },
    runtime: {
      ...without(row.runtime, removable),
      ...settings.runtime,
      ...withDefined({ durationMinutes, idleStopMinutes, wakeOnAccess, schedule }),
    },
    admission: { policy: row.admission.policy, ...withDefined({ capacity: spec.runtime.capacity }) },
  }
}

/** Returns the columns that REST cannot change. */
const ownColumns = (row: WorldRow, spec: WorldSpec): Pick<WorldRow, 'transient' | 'program'> => {
  const { image, contentId, probes, args } = spec.runtime
  const program: Program = hasBuild(row)
    ? { ...row.program, args }
    : { probes, args, ...withDefined({ image, contentId }) }
  return { transient: spec.transient, program }
}

/** Returns the state and run of a World, as columns and as a part of a spec. */
export const runOf = ({ spec, status }: Pick<World, 'spec' | 'status'>) => {
  const { state, runId, startedAt, granted, compute } = spec
  const captured = [granted, status?.run].find((run) => run !== undefined && run.id === runId)
  return {
    columns: {
      state,
      runId: runId ?? null,
      startedAt: startedAt === undefined ? null : new Date(startedAt),
      granted: captured === undefined ? null : toCaptured({ compute, ...captured }),
    },
    spec: withDefined({ state, runId, startedAt }),
  }
}

/** Returns the part of a run that the API fixed at its start. A run of an operator alone has it in its status. */
const toCaptured = (run: CapturedRun): CapturedRun => {
  const { id, startedAt, image, contentId, profile, capacity, probes, args, strategy, ports, compute } = run
  const settings = { ...runtimeSettings.parse(run), ...plainSettings.parse(run) }
  const program = withDefined({ image, contentId })
  return { id, startedAt, profile, ...settings, capacity, probes, args, strategy, ports, compute, ...program }
}

/** The edit of a live World that the row adopts. */
export type WorldEdit = {
  /** The spec of the row with the adopted leaves. */
  readonly spec: WorldSpec
  /** Another state than the row's: a start or a stop with kubectl. */
  readonly state?: WorldState
  /** The reason for which a start waits. */
  readonly wait?: Wait
  /** The build of a start. */
  readonly build?: WorldRow['resolvedBuild']
}

const queueColumns = ['queueQueued', 'queueActive', 'queueReported'] as const

/** The state in the status of a World. */
export type ObservedWorld = {
  /** The columns of the observed state, if some change. */
  readonly observed?: Partial<
    Pick<
      WorldRow,
      'phase' | 'statusMessage' | 'address' | 'conditions' | 'restarts' | 'idle' | (typeof queueColumns)[number]
    >
  >
  /** The deployments in the status, newest first. Older open deployments of the world have ended. */
  readonly deployments: readonly WorldDeploymentStatus[]
}

/** The changes to a row that follow from a live World. */
export type WorldVerdict = Verdict<WorldEdit, ObservedWorld>

/** Puts the edits back if the definition would refuse what the row then pushes. */
const withinDefinition = (merge: Merge<WorldSpec>, row: WorldRow, before: WorldSpec): Merge<WorldSpec> => {
  if (merge.adopted.length === 0) return merge
  const pushed = validWorldSpec.safeParse(toPushedSpec(row, merge.spec))
  return pushed.success
    ? { ...merge, spec: pushed.data }
    : refuseAll(merge, before, pushed.error.issues[0]?.message ?? 'the result is not valid')
}

/** Returns the addresses with the strategy of the run, since players need both. */
const addressOf = ({ addresses, run }: WorldStatus): WorldRow['address'] =>
  addresses?.[0] === undefined ? null : { addresses, strategy: run?.strategy ?? 'Default' }

const readQueue = ({ queue }: WorldStatus): Pick<WorldRow, (typeof queueColumns)[number]> => {
  const { queued = null, active = null, ...reported } = queue ?? {}
  const isEmpty = Object.keys(reported).length === 0
  return { queueQueued: queued, queueActive: active, queueReported: isEmpty ? null : reported }
}

/** Returns the sleep of a world. It outlives the loss of its resource, and with it of the run in the status. */
const idleOf = (row: WorldRow, { idle, run }: WorldStatus): WorldRow['idle'] =>
  idle ?? (run === undefined && isAsleep(row) ? row.idle : null)

/** Reports whether the run of the row did not begin yet, so that the phase in the status is that of an earlier run. */
const awaitsRun = ({ runId }: WorldRow, { spec, status }: Pick<World, 'spec' | 'status'>): boolean =>
  runId !== null && spec.runId === runId && status?.runId !== undefined && status.runId !== runId

/** Reports whether a status says something about the row. One from before the last start or stop does not. */
export const isCurrent = (
  { runRevision }: Pick<WorldRow, 'runRevision'>,
  status: WorldStatus | undefined,
): status is WorldStatus & { phase: WorldPhase } =>
  status?.phase !== undefined && (status.observedRevision ?? 0) >= runRevision

/** Returns the observed state. A status from before the last start or stop is ignored, except for the message of a pause. */
const readState = (row: WorldRow, { metadata, spec, status }: World): ObservedWorld => {
  if (!isCurrent(row, status)) {
    // REST shows that the resource is paused.
    const isPaused = metadata.annotations?.[pausedAnnotation] === 'true'
    return { deployments: [], ...(isPaused ? changed(row, { statusMessage: status?.message ?? '' }) : {}) }
  }
  const deployments = [status.deployment, status.previousDeployment].filter((each) => each !== undefined)
  const isEarlier = awaitsRun(row, { spec, status })
  const columns = changed(row, {
    // The operator reports Inactive for a world that never ran. The row may already be Stopped.
    phase: lastRunIn[status.phase] === 'none' || isEarlier ? row.phase : status.phase,
    statusMessage: status.message ?? '',
    address: addressOf(status),
    conditions: readConditions(status.conditions),
    ...(isEarlier ? {} : { ...readQueue(status), idle: idleOf(row, status) }),
    // While a start waits, the status still has the last run.
    restarts: status.run !== undefined && status.run.id === row.runId ? status.run.restarts : row.restarts,
  })
  return { deployments, ...columns }
}

const changed = (row: WorldRow, observed: NonNullable<ObservedWorld['observed']>): Pick<ObservedWorld, 'observed'> =>
  hasChanges(row, observed) ? { observed } : {}

/** The decisions about a live World. `sidesOf` and `observe` are those of `createObserve`. */
export const { sidesOf: sidesOfWorld, observe: observeWorld } = createObserve<
  WorldRow,
  World,
  WorldSpec,
  WorldFacts,
  WorldEdit,
  ObservedWorld
>({
  toSpec: desiredSpec,
  merge: (sides, row, facts) => withinDefinition(mergeWorld(sides, row, facts), row, sides.row),
  toEdit: ({ spec, adopted }, facts) => {
    const state = adopted.includes('/state') ? spec.state : undefined
    if (state !== 'Running') return { spec, ...withDefined({ state }) }
    const build = typeof facts.build === 'string' ? undefined : facts.build
    const wait = explainWait({ profile: spec.scaling.profile, ...spec.networking }, facts)
    return { spec, state, ...withDefined({ wait, build }) }
  },
  isDrained,
  readState,
  empty: readWorldSpec({}).value,
  noState: { deployments: [] },
  withMessage: (state, statusMessage) => ({ ...state, observed: { ...state.observed, statusMessage } }),
})
