import { expect, test } from 'vitest'
import { buildWorldRows } from '#api/domain/worlds/create.ts'
import { createWorldBody } from '#api/domain/worlds/schema.ts'
import type { WorldRow } from '#api/domain/worlds/table.ts'
import { desiredSpec } from '#api/sync/rows/desired.ts'
import { createIdSource } from '#shared/ids.ts'
import { withDefined } from '#shared/optional.ts'
import { changesOf } from '#shared/resources/testing/changes.ts'
import { validWorldSpec, type WorldSpec, type WorldSpecInput, worldSpecSchema } from '#shared/resources/world.ts'
import { scalingProfileNames, scalingProfiles } from '#shared/scalingProfiles.ts'
import { covers, leavesOf, objectOf } from './leaves.ts'
import { freeFacts } from './testing/facts.ts'
import { toPushedSpec, toWorldColumns } from './world.ts'
import { mergeWorld } from './worldRules.ts'

const newId = createIdSource({ now: () => 0 })
const { world, launchContext } = buildWorldRows(createWorldBody.parse({ name: 'Lobby', transient: false }), {
  organizationId: newId('organization'),
  projectId: newId('project'),
  cluster: 'default',
  newId,
  now: new Date(0),
})
const columns = {
  granted: null,
  resolvedBuild: null,
  runId: null,
  startedAt: null,
  state: 'Stopped',
  program: {},
  revision: 1,
}
const row = { ...world, ...columns } as WorldRow

const ownedByApi = ['/runId', '/startedAt', '/revision', '/granted', '/nextAction']
/** Parts of a schedule that are not valid alone. */
const parts = ['/schedule/timeZone', '/schedule/restart/whenEmptyWithinMinutes']
const edits = changesOf(worldSpecSchema).filter(
  ({ pointer }) => ![...ownedByApi, ...parts].some((each) => covers(each, pointer)),
)

type QueryEdit = NonNullable<WorldSpecInput['runtime']>['query'] | undefined

/** Returns the pointers of an edit of a row with kubectl, and the row after it. */
const adopt = (before: WorldRow, live: WorldSpec) => {
  const base = desiredSpec(before)
  const { spec, adopted } = mergeWorld({ base, row: base, live, unreadable: [] }, before, freeFacts)
  const after = toWorldColumns(before, launchContext, spec).world
  return { adopted, after: { ...before, ...after, state: spec.state } }
}

test.each(edits)(
  'an edit of $pointer with kubectl reaches the row, the row writes it, and so does its undoing',
  (edit) => {
    const base = desiredSpec(row)
    const changed = leavesOf(edit.change)
    const live = worldSpecSchema.parse(objectOf(new Map([...leavesOf(base), ...changed])))
    const { adopted, after } = adopt(row, live)
    expect(adopted).toEqual(expect.arrayContaining([...changed.keys()]))
    expect(desiredSpec(after)).toEqual(live)
    expect(desiredSpec(adopt(after, base).after)).toEqual(base)
  },
)

test.each<[string, QueryEdit, QueryEdit, QueryEdit]>([
  [
    'removed with kubectl and changed over REST',
    { protocol: 'A2S' },
    { protocol: 'A2S', timeoutSeconds: 4 },
    undefined,
  ],
  ['added with both', undefined, { protocol: 'MinecraftJava' }, { protocol: 'A2S', port: 7777, timeoutSeconds: 5 }],
  [
    'changed with kubectl and removed over REST',
    { protocol: 'A2S' },
    undefined,
    { protocol: 'SQP', timeoutSeconds: 5 },
  ],
])('a query that is %s stays as the row has it', (_, base, ours, theirs) => {
  const withQuery = (query: QueryEdit): WorldSpec =>
    worldSpecSchema.parse({ ...desiredSpec(row), runtime: { ...desiredSpec(row).runtime, ...withDefined({ query }) } })
  const sides = { base: withQuery(base), row: withQuery(ours), live: withQuery(theirs), unreadable: [] }
  const merged = mergeWorld(sides, row, freeFacts)
  expect(merged.spec).toEqual(sides.row)
  expect(merged.adopted).toEqual([])
  expect(merged.putBack).toContain('/runtime/query/protocol')
})

const berlin = { timeZone: 'Europe/Berlin', start: '0 18 * * *' }

test.each<[string, WorldSpecInput['schedule'], WorldSpecInput['schedule']]>([
  [
    'moved with kubectl in another time zone over REST',
    { ...berlin, timeZone: 'Asia/Tokyo' },
    { ...berlin, start: '0 20 * * *' },
  ],
  ['extended with kubectl and removed over REST', undefined, { ...berlin, stop: '0 2 * * *' }],
  ['extended with both', { ...berlin, stop: '0 2 * * *' }, { ...berlin, restart: { at: '0 5 * * *' } }],
])('a schedule that is %s stays as the row has it', (_, ours, theirs) => {
  const withSchedule = (schedule: WorldSpecInput['schedule']): WorldSpec =>
    worldSpecSchema.parse({ ...desiredSpec(row), ...withDefined({ schedule }) })
  const sides = { base: withSchedule(berlin), row: withSchedule(ours), live: withSchedule(theirs), unreadable: [] }
  const merged = mergeWorld(sides, row, freeFacts)
  expect([merged.spec, merged.adopted, merged.reasons]).toEqual([sides.row, [], []])
  expect(merged.putBack.length).toBeGreaterThan(0)
})

test.each(scalingProfileNames)(
  'a World of %s without a capacity gets that of the profile, and can be pushed',
  (profile) => {
    const base = desiredSpec(row)
    const { capacity: _, ...runtime } = base.runtime
    const { spec } = mergeWorld(
      { base, row: base, live: { ...base, scaling: { profile }, runtime }, unreadable: [] },
      row,
      freeFacts,
    )
    // A larger profile needs a claim, which kubectl has not.
    const isAllowed = scalingProfiles[profile].capacity <= 1_000
    const after = toWorldColumns(row, launchContext, spec).world
    const expected = isAllowed ? scalingProfiles[profile].capacity : base.runtime.capacity
    expect(after).toMatchObject({ admission: { capacity: expected }, runtime: { capacity: expected } })
    const pushed = desiredSpec({ ...row, ...after })
    expect(validWorldSpec.parse(pushed)).toEqual(pushed)
    expect(toPushedSpec(row, spec)).toEqual(pushed)
  },
)
