import { expect, test } from 'vitest'
import { buildWorldRows } from '#api/domain/worlds/create.ts'
import { createWorldBody } from '#api/domain/worlds/schema.ts'
import type { WorldRow } from '#api/domain/worlds/table.ts'
import { desiredSpec } from '#api/sync/rows/desired.ts'
import { createIdSource } from '#shared/ids.ts'
import { changesOf } from '#shared/resources/testing/changes.ts'
import { validWorldSpec, worldSpecSchema } from '#shared/resources/world.ts'
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

const ownedByApi = ['/runId', '/startedAt', '/revision', '/granted']
const edits = changesOf(worldSpecSchema).filter(({ pointer }) => !ownedByApi.some((own) => covers(own, pointer)))

test.each(edits)('an edit of $pointer with kubectl reaches the row, and the row writes it', ({ change }) => {
  const base = desiredSpec(row)
  const changed = leavesOf(change)
  const live = worldSpecSchema.parse(objectOf(new Map([...leavesOf(base), ...changed])))
  const { spec, adopted } = mergeWorld({ base, row: base, live, unreadable: [] }, row, freeFacts)
  expect(adopted).toEqual([...changed.keys()])
  const after = toWorldColumns(row, launchContext, spec).world
  expect(desiredSpec({ ...row, ...after, state: spec.state })).toEqual(live)
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
