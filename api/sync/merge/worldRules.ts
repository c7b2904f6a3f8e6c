import { explainImage } from '#api/domain/builds/image.ts'
import { explainNetworking } from '#api/domain/worlds/networking.ts'
import { explainSpecBytes } from '#api/domain/worlds/rowBytes.ts'
import { explainSchedule } from '#api/domain/worlds/schedule.ts'
import { createWorldBody } from '#api/domain/worlds/schema.ts'
import { explainProfileForBots, explainSize } from '#api/domain/worlds/size.ts'
import { explainStart, type StartFacts } from '#api/domain/worlds/startRules.ts'
import type { WorldRow } from '#api/domain/worlds/table.ts'
import type { WorldBots } from '#shared/domain/botUse.ts'
import type { HostPorts } from '#shared/domain/hostPorts.ts'
import { idleRule } from '#shared/domain/idle.ts'
import { withDefined } from '#shared/optional.ts'
import { type WorldSpec, worldSpecSchema } from '#shared/resources/world.ts'
import { type ScalingProfiles, scalingProfiles } from '#shared/scalingProfiles.ts'
import { type Merge, mergeSpecs, type Rule, type Sides, toClause } from './merge.ts'

/** Facts for the rules for edits of a World, besides the world itself. */
export type WorldFacts = StartFacts & {
  readonly bots: WorldBots
  readonly profiles: ScalingProfiles
  readonly hostPorts: HostPorts
  readonly hasCluster: (place: { group: string; region: string }) => boolean
  /** The build that a start would run; null without one, or a sentence that says why none can be found. */
  readonly build: WorldRow['resolvedBuild'] | string
}

type Build = Pick<WorldRow, 'resolvedBuild'> & { readonly runtime: Pick<WorldRow['runtime'], 'build'> }
type Programmed = Build & Pick<WorldRow, 'program'>

/** Reports whether REST names a build. Edits of image, content and probes with kubectl are then refused. */
export const hasBuild = ({ resolvedBuild, runtime }: Build): boolean =>
  resolvedBuild !== null || runtime.build !== undefined

/** Merges the edits of a live World into its row. See `mergeSpecs`; the edits have the limits of REST. */
export const mergeWorld = (sides: Sides<WorldSpec>, build: Programmed, facts: WorldFacts): Merge<WorldSpec> =>
  mergeSpecs(worldSpecSchema, withRunOfRow(sides), worldRules(sides.row, build, facts))

/** Returns the sides with the row's run if the resource has none. A missing run is not an edit: the API may not have written it yet. */
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
    fields: ['/networking'],
    refuse: ({ networking }) => toClause(explainNetworking(networking, facts)?.message),
  },
  {
    fields: ['/scaling', '/runtime/capacity'],
    refuse: ({ scaling: { profile }, runtime: { capacity } }) => explainSizeEdit({ profile, capacity }, row, facts),
  },
  // Parts of two queries, or a part with defaults for the rest, would be a query that nobody wrote.
  { fields: ['/runtime/query', '/idleStopMinutes'], isWhole: true, refuse: (edited) => refuseIdle(edited, facts) },
  { fields: ['/schedule'], isWhole: true, refuse: ({ schedule }) => explainSchedule(schedule)?.message },
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
export const refuseStart = (spec: WorldSpec, row: Programmed, facts: WorldFacts): string | undefined => {
  const { build } = facts
  if (typeof build === 'string') return toClause(build)
  const { profile } = spec.scaling
  const { strategy } = spec.networking
  const { query } = spec.runtime
  const { idleStopMinutes } = spec
  // The spec of a row with the build of its last run shows the program of that build. The next run may have none.
  const { image, probes = true } = build ?? (hasBuild(row) ? row.program : spec.runtime)
  const run = { profile, strategy, probes, ...withDefined({ image, query, idleStopMinutes }) }
  return toClause(explainStart(run, facts)?.message)
}

/** Returns why the next run could not sleep as the spec says, as the end of a sentence, or undefined. */
const refuseIdle = ({ idleStopMinutes, runtime }: WorldSpec, { build }: WorldFacts): string | undefined => {
  if (build === null || typeof build === 'string') return undefined
  return idleRule.isKept({ ...runtime, idleStopMinutes, probes: build.probes }) ? undefined : idleRule.message
}

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
