import { describe, expect, test } from 'vitest'
import { buildWorldRows } from '#api/domain/worlds/create.ts'
import { createWorldBody } from '#api/domain/worlds/schema.ts'
import type { WorldRow } from '#api/domain/worlds/table.ts'
import { createIdSource } from '#shared/ids.ts'
import { type World, type WorldStatus, worldSpecSchema } from '#shared/resources/world.ts'
import { desiredSpec } from './desired.ts'
import { observeWorld } from './observe.ts'

const newId = createIdSource({ now: () => 0 })
const now = new Date(Date.UTC(2026, 0, 1))
const runId = newId('run')

/** A started world whose last push was its start. */
const aRow = (changes: Partial<WorldRow> = {}): WorldRow => {
  const input = createWorldBody.parse({ name: 'Lobby', transient: false })
  const { world } = buildWorldRows(input, {
    organizationId: newId('organization'),
    projectId: newId('project'),
    cluster: 'default',
    newId,
    now,
  })
  const row: WorldRow = {
    ...world,
    description: null,
    pictureUrl: null,
    ...{ state: 'Running', runId, startedAt: now, resolvedBuild: null, revision: 2, runRevision: 2 },
    ...{
      phase: 'Starting',
      statusMessage: '',
      queueQueued: 0,
      queueActive: 0,
      statusVersion: 1,
      cluster: 'default',
      startedWith: null,
      runningCapacity: world.estimatedCapacity,
      followedVersion: now,
    },
    ...{ applied: null, appliedResourceVersion: '5', resourceUid: 'uid', deletingAt: null },
  }
  return { ...row, applied: desiredSpec(row), ...changes }
}

const aLive = (row: WorldRow, spec: object = {}, status?: WorldStatus, metadata: object = {}): World => ({
  apiVersion: 'orrery.dev/v1alpha1',
  kind: 'World',
  metadata: { name: row.id, uid: 'uid', generation: 3, resourceVersion: '6', ...metadata },
  spec: worldSpecSchema.parse({ ...desiredSpec(row), ...spec }),
  ...(status ? { status } : {}),
})

describe('a status', () => {
  test('of the present run is taken', () => {
    const row = aRow()
    const seen = observeWorld(row, aLive(row, {}, { phase: 'Active', observedRevision: 2 }), false)
    expect(seen.observed).toEqual({ phase: 'Active', statusMessage: '', queueQueued: 0, queueActive: 0 })
  })

  test('of a paused world tells that it is paused, even where it is otherwise behind', () => {
    const row = aRow({ revision: 3, runRevision: 3 })
    const status: WorldStatus = { phase: 'Active', observedRevision: 2, message: 'paused: remove the annotation' }
    const live = aLive(row, {}, status, { annotations: { 'orrery.dev/paused': 'true' } })
    expect(observeWorld(row, live, false).observed).toMatchObject({
      phase: 'Starting',
      statusMessage: 'paused: remove the annotation',
    })
  })

  test('that was written before the last start or stop was seen changes nothing', () => {
    const row = aRow({ revision: 3, runRevision: 3, phase: 'Stopped', state: 'Stopped' })
    expect(observeWorld(row, aLive(row, {}, { phase: 'Active', observedRevision: 2 }), true).observed).toBeUndefined()
  })

  test('after a mere rename is still about the present run', () => {
    const row = aRow({ revision: 3, runRevision: 2 })
    expect(observeWorld(row, aLive(row, {}, { phase: 'Active', observedRevision: 2 }), true).observed?.phase).toBe(
      'Active',
    )
  })

  test('that says what the row says asks for no write', () => {
    const row = aRow({ phase: 'Active' })
    expect(observeWorld(row, aLive(row, {}, { phase: 'Active', observedRevision: 2 }), false).observed).toBeUndefined()
  })

  test('Inactive does not undo a stop of a world that never ran', () => {
    const row = aRow({ state: 'Stopped', runId: null, startedAt: null, phase: 'Stopped' })
    expect(
      observeWorld(row, aLive(row, {}, { phase: 'Inactive', observedRevision: 2 }), false).observed,
    ).toBeUndefined()
  })
})

describe('an edit with kubectl', () => {
  test('of the state is adopted where the row did not change it', () => {
    const row = aRow()
    expect(observeWorld(row, aLive(row, { state: 'Stopped' }), false).adoptState).toBe('Stopped')
    expect(observeWorld(row, aLive(row, { state: 'Stopped' }), true).adoptState).toBe('Stopped')
  })

  test('loses to a pending change of the same field over REST', () => {
    const applied = desiredSpec(aRow({ state: 'Stopped', revision: 1 }))
    const row = aRow({ applied })
    expect(observeWorld(row, aLive(row, { state: 'Stopped', revision: 1 }), true).adoptState).toBeUndefined()
  })

  test('is not seen in what push itself wrote', () => {
    const row = aRow()
    expect(observeWorld(row, aLive(row), false)).toEqual({ deployments: [] })
  })

  test('is not seen in a stop that was pushed, but not recorded, before the row was started again', () => {
    const row = aRow({ revision: 4 })
    const stopped = aLive(row, { state: 'Stopped', revision: 3 })
    expect(observeWorld(row, stopped, true).adoptState).toBeUndefined()
  })

  test('of what push wrote is adopted before that push is recorded', () => {
    const row = aRow({ applied: desiredSpec(aRow({ state: 'Stopped', revision: 1 })) })
    expect(observeWorld(row, aLive(row, { state: 'Stopped' }), true).adoptState).toBe('Stopped')
    expect(observeWorld(row, aLive(row), true).adoptState).toBeUndefined()
  })

  test('that follows an adopted one at once is adopted too', () => {
    const row = aRow({ state: 'Stopped', revision: 3 })
    const applied = { ...desiredSpec(row), revision: 2 }
    expect(observeWorld({ ...row, applied }, aLive(row, { state: 'Running', revision: 2 }), true).adoptState).toBe(
      'Running',
    )
  })
})

describe('revisions', () => {
  test('a resource ahead of its row freezes it: the database was restored', () => {
    const row = aRow()
    expect(observeWorld(row, aLive(row, { revision: 9 }, { phase: 'Active', observedRevision: 9 }), false)).toEqual({
      frozen: true,
      deployments: [],
    })
  })

  test('a resource behind a row of which nothing is pending is pushed again', () => {
    const row = aRow({ revision: 3 })
    expect(observeWorld(row, aLive(row, { revision: 2 }), false).pushAgain).toBe(true)
    expect(observeWorld(row, aLive(row, { revision: 2 }), true).pushAgain).toBeUndefined()
  })
})

describe('a deletion', () => {
  const deleted = { deletionTimestamp: now.toISOString() }

  test('by kubectl is recorded first, and the finalizer stays until no server is left', () => {
    const row = aRow()
    const draining: WorldStatus = {
      ...{ phase: 'Stopped', observedGeneration: 3, observedRevision: 2 },
      deployment: { id: 'dep-1', externalId: 'pod', status: 'Stopping', createdAt: now.toISOString() },
    }
    const seen = observeWorld(row, aLive(row, {}, draining, deleted), false)
    expect(seen.markDeleting).toBe(true)
    expect(seen.release).toBeUndefined()
  })

  test('lets the finalizer go once the operator has seen it and no server is left', () => {
    const row = aRow({ deletingAt: now })
    const gone: WorldStatus = { phase: 'Stopped', observedGeneration: 3, observedRevision: 2 }
    expect(observeWorld(row, aLive(row, {}, gone, deleted), true).release).toBe(true)
    const before: WorldStatus = { ...gone, observedGeneration: 2 }
    expect(observeWorld(row, aLive(row, {}, before, deleted), true).release).toBeUndefined()
  })
})
