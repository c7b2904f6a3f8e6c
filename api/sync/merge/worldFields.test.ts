import { expect, test } from 'vitest'
import { buildWorldRows } from '#api/domain/worlds/create.ts'
import { createWorldBody } from '#api/domain/worlds/schema.ts'
import type { WorldRow } from '#api/domain/worlds/table.ts'
import { desiredSpec } from '#api/sync/rows/desired.ts'
import { createIdSource } from '#shared/ids.ts'
import { changesOf } from '#shared/resources/testing/changes.ts'
import { worldSpecSchema } from '#shared/resources/world.ts'
import { mergeWorld, toWorldColumns } from './adopt.ts'
import { covers, leavesOf, objectOf } from './leaves.ts'
import { freeFacts } from './testing/facts.ts'

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
