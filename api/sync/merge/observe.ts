import { isDeepStrictEqual } from 'node:util'
import { readConditions } from '#api/domain/events/conditions.ts'
import type { WorldRow } from '#api/domain/worlds/table.ts'
import type { Wait } from '#api/domain/worlds/transitions.ts'
import { desiredSpec } from '#api/sync/rows/desired.ts'
import { lostMessage } from '#api/sync/rows/waiting.ts'
import { lastRunIn } from '#shared/domain/phases.ts'
import type { WorldPhase, WorldState } from '#shared/enumerations.ts'
import { withDefined } from '#shared/optional.ts'
import { pausedAnnotation } from '#shared/resources/group.ts'
import {
  isDrained,
  validWorldSpec,
  type World,
  type WorldDeploymentStatus,
  type WorldSpec,
  type WorldStatus,
} from '#shared/resources/world.ts'
import { explainWait, mergeWorld, toPushedSpec, type WorldFacts } from './adopt.ts'
import { findObstacle, findSides, type Seen } from './base.ts'
import { hasEdits, type Merge, refuseAll, type Sides } from './merge.ts'
import type { VerdictOf } from './verdict.ts'

/** The columns of the observed state of a world. */
export type ObservedColumns = Pick<
  WorldRow,
  'phase' | 'statusMessage' | 'address' | 'conditions' | 'queueQueued' | 'queueActive'
>

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

/** The changes to a row that follow from a live World. All are applied in one transaction. */
export type Verdict = VerdictOf<WorldEdit, ObservedColumns> & {
  /** The deployments in the status, newest first. Older open deployments of the world have ended. */
  readonly deployments: readonly WorldDeploymentStatus[]
}

const nothing = { deployments: [], reasons: [] } as const

/** Returns the sides of the merge of a live World into its row, or undefined if its managed fields must be read first. */
export const sidesOf = (row: WorldRow, seen: Seen<World>): Sides<WorldSpec> | undefined =>
  findSides(desiredSpec(withUidOf(seen.resource, row)), row.applied, seen)

/** The grant of a row is for the live resource, whichever uid is on record. */
const withUidOf = ({ metadata: { uid } }: World, row: WorldRow): WorldRow => ({
  ...row,
  resourceUid: uid ?? row.resourceUid,
})

/** Reports whether a live World has edits to merge, so that the decision needs the facts for their rules. */
export const needsFacts = (sides: Sides<WorldSpec> | undefined): boolean => sides !== undefined && hasEdits(sides)

/**
 * Compares a live World with its row and decides the changes to the row. `dirty` is true if a push is pending. `facts` are
 * used only if there are edits. `sides` are those of the row and the World. `lost` is the reason if the World is deleted with its
 * namespace or definition; the row is not
 * deleted then. The deletion of a resource is also handled while its row is frozen, since it would block that of its namespace or
 * definition.
 */
export const observeWorld = (
  row: WorldRow,
  seen: Seen<World>,
  dirty: boolean,
  {
    facts,
    lost,
    sides = sidesOf(row, seen),
  }: { facts: WorldFacts; lost?: string | undefined; sides?: Sides<WorldSpec> | undefined },
): Verdict => {
  const { resource: live, owns } = seen
  const obstacle = findObstacle({ live: live.spec, row, base: sides?.base }, owns)
  if (sides === undefined || obstacle === 'needsOwnership') return { needsOwnership: true, ...nothing }
  const isDeleting = live.metadata.deletionTimestamp !== undefined
  if (obstacle === 'frozen' && !isDeleting) return { frozen: true, ...nothing }
  // A frozen row knows nothing of the run that the status reports.
  const state: Verdict = { ...nothing, ...(obstacle === 'frozen' ? {} : observedState(row, live)) }
  if (isDeleting) {
    const release = isDrained(live) ? ({ release: true } as const) : {}
    if (row.deletingAt !== null || row.targetCluster !== null) return { ...state, ...release }
    if (lost === undefined) return { ...state, ...release, markDeleting: true }
    const observed = { ...presentColumns(row), ...state.observed, statusMessage: lostMessage(lost) }
    return { ...state, ...release, observed }
  }
  if (row.deletingAt !== null) return state
  return { ...state, ...decideEdit(row, seen, { sides, dirty, facts }) }
}

type Decided = Pick<Verdict, 'edit' | 'adopted' | 'foreignRevision' | 'acknowledged' | 'reasons' | 'pushAgain'>

const decideEdit = (
  row: WorldRow,
  { resource: live }: Seen<World>,
  { sides, dirty, facts }: { sides: Sides<WorldSpec>; dirty: boolean; facts: WorldFacts },
): Decided => {
  const { spec, adopted, putBack, reasons } = withinDefinition(
    mergeWorld(sides, row, facts),
    withUidOf(live, row),
    sides.row,
  )
  const liveRevision = live.spec.revision ?? 0
  const isAhead = liveRevision > row.revision
  const state = adopted.includes('/state') ? spec.state : undefined
  const wait = state === 'Running' ? explainWait(spec, facts) : undefined
  const build = state === 'Running' && typeof facts.build !== 'string' ? facts.build : undefined
  const hasEdit = adopted.length > 0
  return {
    ...(hasEdit ? { edit: { spec, ...withDefined({ state, wait, build }) } } : {}),
    ...(adopted.length > 0 ? { adopted } : {}),
    ...(isAhead ? { foreignRevision: liveRevision } : {}),
    ...(hasEdit || putBack.length > 0 || isAhead ? { acknowledged: true } : {}),
    reasons,
    ...(!dirty && !isDeepStrictEqual(live.spec, spec) ? { pushAgain: true } : {}),
  }
}

/** Puts the edits back if the definition would refuse what the row then pushes. */
const withinDefinition = (merge: Merge<WorldSpec>, row: WorldRow, before: WorldSpec): Merge<WorldSpec> => {
  if (merge.adopted.length === 0) return merge
  const pushed = validWorldSpec.safeParse(toPushedSpec(row, merge.spec))
  return pushed.success
    ? { ...merge, spec: pushed.data }
    : refuseAll(merge, before, pushed.error.issues[0]?.message ?? 'the result is not valid')
}

const presentColumns = (row: WorldRow): ObservedColumns => ({
  phase: row.phase,
  statusMessage: row.statusMessage,
  address: row.address,
  conditions: row.conditions,
  queueQueued: row.queueQueued,
  queueActive: row.queueActive,
})

/** Returns the address with the strategy of the run, since players need both. */
const addressOf = ({ address, run }: WorldStatus): WorldRow['address'] =>
  address === undefined ? null : { ...address, strategy: run?.strategy ?? 'Default' }

/** Returns the message of a paused resource. Its status may be outdated, but REST shows that it is paused. */
const pausedMessage = (row: WorldRow, { metadata, status }: World): Pick<Verdict, 'observed'> => {
  const statusMessage = status?.message ?? ''
  if (metadata.annotations?.[pausedAnnotation] !== 'true' || row.statusMessage === statusMessage) return {}
  return { observed: { ...presentColumns(row), statusMessage } }
}

/** Reports whether the run of the row did not begin yet, so that the phase in the status is that of an earlier run. */
const awaitsRun = ({ runId }: WorldRow, { spec, status }: World): boolean =>
  runId !== null && spec.runId === runId && status?.runId !== undefined && status.runId !== runId

/** Reports whether a status says something about the row. One from before the last start or stop does not. */
export const isCurrent = (
  { runRevision }: Pick<WorldRow, 'runRevision'>,
  status: WorldStatus | undefined,
): status is WorldStatus & { phase: WorldPhase } =>
  status?.phase !== undefined && (status.observedRevision ?? 0) >= runRevision

/** Returns the observed state. A status from before the last start or stop is ignored. */
const observedState = (row: WorldRow, live: World): Pick<Verdict, 'observed' | 'deployments'> => {
  const { status } = live
  if (!isCurrent(row, status)) return { deployments: [], ...pausedMessage(row, live) }
  const columns: ObservedColumns = {
    // The operator reports Inactive for a world that never ran. The row may already be Stopped.
    phase: lastRunIn[status.phase] === 'none' || awaitsRun(row, live) ? row.phase : status.phase,
    statusMessage: status.message ?? '',
    address: addressOf(status),
    conditions: readConditions(status.conditions),
    queueQueued: status.queue?.queued ?? 0,
    queueActive: status.queue?.active ?? 0,
  }
  const deployments = [status.deployment, status.previousDeployment].filter((each) => each !== undefined)
  return { deployments, ...(isDeepStrictEqual(columns, presentColumns(row)) ? {} : { observed: columns }) }
}
