import type { Limits } from '#api/domain/access/limits.ts'
import { explainImage } from '#api/domain/builds/image.ts'
import { readConditions } from '#api/domain/events/conditions.ts'
import { applyPatch, patchColumns } from '#api/domain/worlds/patch.ts'
import { explainSpecBytes } from '#api/domain/worlds/rowBytes.ts'
import { createWorldBody, type PatchWorld } from '#api/domain/worlds/schema.ts'
import { explainProfileForBots, explainSize } from '#api/domain/worlds/size.ts'
import { explainNoRoom, explainRate, explainStart } from '#api/domain/worlds/start.ts'
import type { LaunchContextRow, Program, WorldRow } from '#api/domain/worlds/table.ts'
import type { Wait } from '#api/domain/worlds/transitions.ts'
import { desiredSpec } from '#api/sync/rows/desired.ts'
import type { WorldBots } from '#shared/domain/botUse.ts'
import { lastRunIn } from '#shared/domain/phases.ts'
import type { RunLimits, RunUse } from '#shared/domain/runUse.ts'
import { serverSettings } from '#shared/domain/world.ts'
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
  worldSpecSchema,
} from '#shared/resources/world.ts'
import { type ScalingProfiles, scalingProfiles } from '#shared/scalingProfiles.ts'
import { type Merge, mergeSpecs, type Rule, refuseAll, type Sides, toClause } from './merge.ts'
import { changedColumns, createObserve, type Verdict } from './observe.ts'

/** Facts for the rules for edits of a World, besides the world itself. */
export type WorldFacts = {
  readonly limits: Pick<Limits, 'maxWorldCapacity' | 'imageRegistries'> & RunLimits
  /** The use of the organization's other running worlds. */
  readonly others: RunUse
  readonly bots: WorldBots
  readonly profiles: ScalingProfiles
  readonly hasCluster: (place: { group: string; region: string }) => boolean
  /** The build that a start would run; null without one, or a sentence that says why none can be found. */
  readonly build: WorldRow['resolvedBuild'] | string
  readonly startsPerMinute: number
  /** The milliseconds until the world may start again. */
  readonly startDelayMs: number
}

type Build = Pick<WorldRow, 'resolvedBuild'> & { readonly runtime: Pick<WorldRow['runtime'], 'build'> }
type Programmed = Build & Pick<WorldRow, 'program'>

/** Reports whether REST names a build. Edits of image, content and probes with kubectl are then refused. */
export const hasBuild = ({ resolvedBuild, runtime }: Build): boolean =>
  resolvedBuild !== null || runtime.build !== undefined

/** Merges the edits of a live World into its row. See `mergeSpecs`; the edits have the limits of REST. */
export const mergeWorld = (sides: Sides<WorldSpec>, build: Programmed, facts: WorldFacts): Merge<WorldSpec> =>
  mergeSpecs(worldSpecSchema, withRunOfRow(sides), worldRules(sides.row, build, facts))

/** Returns the sides with the row's run if the resource has none, which is no edit: the API may not have written it yet. */
const withRunOfRow = (sides: Sides<WorldSpec>): Sides<WorldSpec> => {
  if (sides.live.runId !== undefined) return sides
  const { runId, startedAt } = sides.base
  return { ...sides, live: { ...sides.live, ...withDefined({ runId, startedAt }) } }
}

const nameSchema = createWorldBody.shape.name

const worldRules = (row: WorldSpec, build: Programmed, facts: WorldFacts): Rule<WorldSpec>[] => [
  {
    fields: ['/runId', '/startedAt'],
    refuse: () => 'only the API names runs. Change spec.state to start or stop the world',
  },
  {
    fields: ['/runtime/image', '/runtime/contentId', '/runtime/probes'],
    refuse: ({ runtime: { image } }) => {
      if (hasBuild(build)) return 'the program comes from the build that REST names'
      return toClause(image === undefined ? undefined : explainImage(image, facts.limits))
    },
  },
  {
    fields: ['/displayName'],
    refuse: ({ displayName }) => nameSchema.safeParse(displayName).error?.issues[0]?.message,
  },
  {
    fields: ['/compute'],
    refuse: ({ compute: { group, region } }) =>
      facts.hasCluster({ group, region }) ? undefined : `no cluster serves group ${group} in region ${region}`,
  },
  {
    fields: ['/scaling', '/runtime/capacity'],
    refuse: ({ scaling: { profile }, runtime: { capacity } }) => explainSizeEdit({ profile, capacity }, row, facts),
  },
  { fields: ['/metadata'], refuse: (edited) => explainSpecBytes(edited, row) },
  { fields: ['/runtime/args'], refuse: (edited) => explainSpecBytes(edited, row) },
  // Last, so that a start is checked with the other edits.
  {
    fields: ['/state'],
    refuse: (edited, hasRefusal) => {
      if (edited.state === 'Stopped') return undefined
      return hasRefusal ? 'a start with a refused edit would run something else' : refuseStart(edited, build, facts)
    },
  },
]

/** Returns why a start of that spec is refused, as the end of a sentence, or undefined if it is allowed or waits. */
export const refuseStart = (spec: WorldSpec, row: Programmed, { build, limits }: WorldFacts): string | undefined => {
  if (typeof build === 'string') return toClause(build)
  const { profile } = spec.scaling
  // The spec of a row with the build of its last run shows the image of that build. The next run may have none.
  const image = build?.image ?? (hasBuild(row) ? row.program.image : spec.runtime.image)
  return toClause(explainStart({ ...withDefined({ image }), profile }, limits)?.message)
}

/** Returns what a start of that spec waits for, or undefined if it may begin. */
export const explainWait = (
  { scaling: { profile }, networking: { strategy } }: WorldSpec,
  { limits, others, startsPerMinute, startDelayMs: delayMs }: WorldFacts,
): Wait | undefined => {
  if (delayMs > 0) return { message: `${explainRate(startsPerMinute)} ${triedAgain}`, delayMs }
  const noRoom = explainNoRoom({ profile, strategy }, others, limits)
  return noRoom === undefined ? undefined : { message: `${noRoom} ${triedAgain}` }
}

const triedAgain = 'The start is tried again.'

const explainSizeEdit = (
  { profile, capacity }: { profile: WorldSpec['scaling']['profile']; capacity: number | undefined },
  row: WorldSpec,
  { limits, bots, profiles }: WorldFacts,
): string | undefined => {
  const largest = scalingProfiles[profile].capacity
  // A profile that REST allowed needs no claim again.
  const isKept = profile === row.scaling.profile
  const refusal = explainSize(
    { profile, capacity: capacity ?? largest },
    isKept ? { limits: { maxWorldCapacity: largest }, claims: ['largeWorlds'] } : { limits, claims: [] },
  )
  const forBots = explainProfileForBots(profiles[row.scaling.profile], profiles[profile], bots)
  return toClause(refusal ?? forBots)
}

/** Returns the columns of a world and its launch context for a spec. Columns that a resource does not show stay. */
export const toWorldColumns = (row: WorldRow, context: LaunchContextRow, spec: WorldSpec) => {
  const patched = applyPatch(row, context, toPatch(row, spec))
  return { world: { ...patched.world, ...ownColumns(row, spec) }, context: patched.context }
}

/** Returns the spec that the row pushes once it has the columns for a spec, apart from a new run. */
export const toPushedSpec = (row: WorldRow, spec: WorldSpec): WorldSpec =>
  desiredSpec({ ...row, ...patchColumns(row, toPatch(row, spec)), ...ownColumns(row, spec), state: spec.state })

/** Returns the PATCH with the fields of a spec that REST has. Without a capacity, a world has that of its scaling profile. */
const toPatch = (row: WorldRow, spec: WorldSpec): PatchWorld => {
  const { durationMinutes: _, capacity: __, ...runtime } = row.runtime
  const settings = serverSettings.parse(spec)
  const description = spec.description === (row.description ?? '') ? {} : { description: spec.description }
  return {
    name: spec.displayName,
    ...description,
    metadata: spec.metadata,
    ...settings,
    compute: { ...row.compute, ...settings.compute },
    networking: { ...settings.networking, scaling: { ...row.networking.scaling, profile: spec.scaling.profile } },
    runtime: { ...runtime, ...settings.runtime, ...withDefined({ durationMinutes: spec.durationMinutes }) },
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

/** The columns of the observed state of a world. */
type ObservedColumns = Pick<
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

/** The state in the status of a World. */
export type ObservedWorld = {
  /** The columns of the observed state, if they change. */
  readonly observed?: ObservedColumns
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
  const present = presentColumns(row)
  if (!isCurrent(row, status)) {
    // REST shows that the resource is paused.
    const isPaused = metadata.annotations?.[pausedAnnotation] === 'true'
    const paused = isPaused ? changedColumns(present, { ...present, statusMessage: status?.message ?? '' }) : {}
    return { deployments: [], ...paused }
  }
  const columns: ObservedColumns = {
    // The operator reports Inactive for a world that never ran. The row may already be Stopped.
    phase: lastRunIn[status.phase] === 'none' || awaitsRun(row, { spec, status }) ? row.phase : status.phase,
    statusMessage: status.message ?? '',
    address: addressOf(status),
    conditions: readConditions(status.conditions),
    queueQueued: status.queue?.queued ?? 0,
    queueActive: status.queue?.active ?? 0,
  }
  const deployments = [status.deployment, status.previousDeployment].filter((each) => each !== undefined)
  return { deployments, ...changedColumns(present, columns) }
}

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
    return { spec, state, ...withDefined({ wait: explainWait(spec, facts), build }) }
  },
  isDrained,
  readState,
  noState: { deployments: [] },
  withMessage: (row, state, statusMessage) => ({
    ...state,
    observed: { ...presentColumns(row), ...state.observed, statusMessage },
  }),
})
