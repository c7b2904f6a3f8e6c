import { describe, expect, test } from 'vitest'
import { buildWorldRows } from '#api/domain/worlds/create.ts'
import { createWorldBody } from '#api/domain/worlds/schema.ts'
import type { WorldRow } from '#api/domain/worlds/table.ts'
import { desiredSpec } from '#api/sync/rows/desired.ts'
import { defaultPorts } from '#shared/domain/ports.ts'
import { queryRule } from '#shared/domain/query.ts'
import { noUse } from '#shared/domain/runUse.ts'
import { plainSettings } from '#shared/domain/world.ts'
import { createIdSource } from '#shared/ids.ts'
import { withDefined } from '#shared/optional.ts'
import { readWorld, type World, type WorldStatus, worldSpecSchema } from '#shared/resources/world.ts'
import { decideWorld, freeFacts } from './testing/facts.ts'
import { sidesOfWorld, type WorldVerdict } from './world.ts'

const newId = createIdSource({ now: () => 0 })
const now = new Date(Date.UTC(2026, 0, 1))
const runId = newId('run')

/** A row of a started world whose last push was its start. */
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
    ...plainSettings.parse({}),
    ...world,
    description: null,
    pictureUrl: null,
    program: {},
    refusal: null,
    pushRefusal: null,
    state: 'Running',
    runId,
    startedAt: now,
    resolvedBuild: null,
    revision: 2,
    runRevision: 2,
    ...{
      phase: 'Starting',
      statusMessage: '',
      address: null,
      conditions: [],
      queueQueued: null,
      queueActive: null,
      queueReported: null,
      idle: null,
      nextAction: null,
      restarts: 0,
      cluster: 'default',
      targetCluster: null,
      startedWith: null,
      granted: null,
      waitsSince: null,
      waitsFor: null,
      waitsUntil: null,
      followedVersion: now,
    },
    applied: null,
    appliedResourceVersion: '5',
    resourceUid: 'uid',
    deletingAt: null,
    purgeAt: null,
    removedAt: null,
  }
  return { ...row, applied: desiredSpec(row), ...changes }
}

type Managed = { owns?: (pointer: string) => boolean; lost?: string }
const observe = (row: WorldRow, live: World, dirty: boolean, { owns, lost }: Managed = {}): WorldVerdict =>
  decideWorld(row, { ...readWorld(live), owns }, dirty, { facts: freeFacts, lost })
const nothing = { is: 'merged', adopted: [], acknowledged: false, reasons: [], pushAgain: false }

/** Compares a World that is not being deleted with its row. */
const merge = (...args: Parameters<typeof observe>) => {
  const verdict = observe(...args)
  if (verdict.is !== 'merged') throw new Error(verdict.is)
  return verdict
}
const adoptedState = (...args: Parameters<typeof observe>) => merge(...args).edit?.state

const aLive = (row: WorldRow, spec: object = {}, status?: WorldStatus, metadata: object = {}): World => ({
  apiVersion: 'orrery.dev/v1alpha1',
  kind: 'World',
  metadata: { name: row.id, uid: 'uid', generation: 3, resourceVersion: '6', ...metadata },
  spec: worldSpecSchema.parse({ ...desiredSpec(row), ...spec }),
  ...withDefined({ status }),
})

test('an edit is put back if the row that results could not be pushed', () => {
  const before = aRow({ state: 'Stopped' })
  const row = {
    ...before,
    networking: { ...before.networking, scaling: { profile: 'Capacity10', configuration: null } },
  } as const
  const live = aLive(row, { description: 'Meet here' })
  const seen = merge({ ...row, applied: desiredSpec(row) }, live, false)
  expect(seen).toMatchObject({ acknowledged: true, pushAgain: true })
  expect(seen.edit).toBeUndefined()
  expect(seen.reasons).toEqual([
    expect.stringMatching(/^spec.description was put back: runtime.capacity must not exceed/),
  ])
})

test('a query is put back if the port that it asks at was removed over REST meanwhile', () => {
  const of = aRow({ state: 'Stopped' })
  const ports = [...defaultPorts, { name: 'query', containerPort: 9000, protocol: 'UDP', expose: 'Internal' } as const]
  const applied = desiredSpec({ ...of, networking: { ...of.networking, ports } })
  const runtime = { ...applied.runtime, query: { protocol: 'A2S', port: 9000 } }
  const live = aLive(of, { networking: applied.networking, runtime })
  const row = { ...of, applied, revision: 3 }
  const seen = merge(row, live, true)
  expect(seen.edit).toBeUndefined()
  expect(seen.reasons).toEqual([expect.stringContaining(`put back: ${queryRule.message}`)])
  expect(merge({ ...row, networking: { ...of.networking, ports } }, live, true).edit?.spec.runtime.query).toEqual({
    protocol: 'A2S',
    port: 9000,
    timeoutSeconds: 2,
  })
})

describe('a status', () => {
  test('of the current run is written to the row', () => {
    const row = aRow()
    const seen = merge(row, aLive(row, {}, { phase: 'Active', observedRevision: 2 }), false)
    const columns = {
      phase: 'Active',
      statusMessage: '',
      address: null,
      conditions: [],
      queueQueued: null,
      queueActive: null,
      queueReported: null,
      idle: null,
      restarts: 0,
    }
    expect(seen.state.observed).toEqual(columns)
  })

  test('writes the addresses with the strategy of the run, and clears them with the server', () => {
    const url = 'wss://wld-1.worlds.example'
    const addresses = [{ name: 'game', protocol: 'TCP' as const, host: 'wld-1.worlds.example', port: 443, url }]
    const reached = merge(aRow(), aLive(aRow(), {}, { phase: 'Active', observedRevision: 2, addresses }), false)
    expect(reached.state.observed?.address).toEqual({ addresses, strategy: 'Default' })
    const row = { ...aRow(), address: { addresses, strategy: 'NodePort' as const } }
    const gone = merge(row, aLive(row, {}, { phase: 'Active', observedRevision: 2 }), false)
    expect(gone.state.observed?.address).toBeNull()
  })

  test('has the players that the server reports, null without a report, and the restarts of the run', () => {
    const row = aRow()
    const captured = {
      id: runId,
      image: 'server:1',
      profile: 'Capacity30' as const,
      capacity: 4,
      probes: true,
      args: [],
    }
    const more = { ports: defaultPorts, strategy: 'Default', startedAt: now.toISOString(), restarts: 3 } as const
    const run = { ...plainSettings.parse({}), ...row.runtime, ...captured, ...more }
    const status: WorldStatus = { phase: 'Active', observedRevision: 2, runId, run, queue: { active: 12, queued: 1 } }
    const counted = { queueActive: 12, queueQueued: 1, queueReported: null, restarts: 3 }
    expect(merge(row, aLive(row, {}, status), false).state.observed).toMatchObject(counted)
    const reported = { capacity: 40, version: '1.21', map: 'dust' }
    const queue = { active: 12, queued: 1, ...reported }
    const seen = merge({ ...row, ...counted }, aLive(row, {}, { ...status, queue }), false)
    expect(seen.state.observed).toMatchObject({ ...counted, queueReported: reported })
    const { queue: _, ...silent } = status
    const known = { ...row, ...counted, queueReported: reported }
    expect(merge(known, aLive(row, {}, silent), false).state.observed).toMatchObject({
      queueActive: null,
      queueQueued: null,
      queueReported: null,
    })
    const last = { ...run, id: newId('run') }
    const started = { ...row, restarts: 1 }
    const earlier: WorldStatus = { ...status, runId: last.id, run: last }
    const kept = merge({ ...started, statusMessage: 'x' }, aLive(row, {}, { ...earlier, queue }), false).state.observed
    expect(kept).toMatchObject({ restarts: 1 })
    for (const column of ['queueActive', 'queueQueued', 'queueReported']) expect(kept).not.toHaveProperty(column)
    const waiting: WorldStatus = { ...silent, run: last }
    expect(merge(started, aLive(row, {}, waiting), false).state.observed).toMatchObject({ restarts: 1 })
  })

  test('of a paused world reports the pause, even if it is outdated otherwise', () => {
    const row = aRow({ revision: 3, runRevision: 3 })
    const status: WorldStatus = { phase: 'Active', observedRevision: 2, message: 'paused: remove the annotation' }
    const live = aLive(row, {}, status, { annotations: { 'orrery.dev/paused': 'true' } })
    expect(merge(row, live, false).state.observed).toEqual({ statusMessage: 'paused: remove the annotation' })
  })

  test('that was written before the operator saw the last start or stop changes nothing', () => {
    const row = aRow({ revision: 3, runRevision: 3, phase: 'Stopped', state: 'Stopped' })
    expect(merge(row, aLive(row, {}, { phase: 'Active', observedRevision: 2 }), true).state.observed).toBeUndefined()
  })

  test('after a rename alone still belongs to the current run', () => {
    const row = aRow({ revision: 3, runRevision: 2 })
    expect(merge(row, aLive(row, {}, { phase: 'Active', observedRevision: 2 }), true).state.observed?.phase).toBe(
      'Active',
    )
  })

  test('of an earlier run says why the run of the row waits, and leaves its phase', () => {
    const row = aRow()
    const message = 'The limit is 30 (maxRunningCapacity).'
    const waiting: WorldStatus = { phase: 'Stopped', runId: newId('run'), observedRevision: 2, message }
    expect(merge(row, aLive(row, {}, waiting), false).state.observed).toMatchObject({
      phase: 'Starting',
      statusMessage: message,
    })
    expect(merge(row, aLive(row, {}, { ...waiting, runId }), false).state.observed?.phase).toBe('Stopped')
  })

  test('that equals the row causes no write', () => {
    const row = aRow({ phase: 'Active' })
    expect(merge(row, aLive(row, {}, { phase: 'Active', observedRevision: 2 }), false).state.observed).toBeUndefined()
  })

  test('Inactive does not undo a stop of a world that never ran', () => {
    const row = aRow({ state: 'Stopped', runId: null, startedAt: null, phase: 'Stopped' })
    expect(merge(row, aLive(row, {}, { phase: 'Inactive', observedRevision: 2 }), false).state.observed).toBeUndefined()
  })
})

describe('an edit with kubectl', () => {
  test('of the state is adopted unless the row changed it', () => {
    const row = aRow()
    expect(adoptedState(row, aLive(row, { state: 'Stopped' }), false)).toBe('Stopped')
    expect(adoptedState(row, aLive(row, { state: 'Stopped' }), true)).toBe('Stopped')
  })

  test('that starts a world beyond a limit is adopted, and its run waits', () => {
    const idle = aRow({ state: 'Stopped' })
    const row = { ...idle, applied: desiredSpec(idle) }
    const live = { ...readWorld(aLive(row, { state: 'Running' })), owns: undefined }
    const full = { ...freeFacts, others: { ...noUse, capacity: 20_000 } }
    expect(decideWorld(row, live, false, { facts: full })).toMatchObject({
      edit: { state: 'Running', wait: { message: expect.stringContaining('maxRunningCapacity') } },
      reasons: [],
    })
    expect(decideWorld(row, live, false, { facts: freeFacts })).not.toHaveProperty('edit.wait')
  })

  test('loses to a pending change of the same field over REST', () => {
    const applied = desiredSpec(aRow({ state: 'Stopped', revision: 1 }))
    const row = aRow({ applied })
    expect(adoptedState(row, aLive(row, { state: 'Stopped', revision: 1 }), true)).toBeUndefined()
  })

  test('is not found in what push itself wrote', () => {
    const row = aRow()
    expect(merge(row, aLive(row), false)).toEqual({ ...nothing, state: { deployments: [] } })
  })

  test('is not found in a stop that was pushed but not recorded before the next start', () => {
    const row = aRow({ revision: 4 })
    const stopped = aLive(row, { state: 'Stopped', revision: 3 })
    expect(sidesOfWorld(row, readWorld(stopped))).toBeUndefined()
    expect(merge(row, stopped, true, { owns: () => true }).edit).toBeUndefined()
  })

  test('of a push that was not recorded is adopted if the API does not manage the field', () => {
    const row = aRow({ revision: 4 })
    const renamed = aLive(row, { displayName: 'Foyer', revision: 3 })
    const owns = (pointer: string) => pointer !== '/displayName'
    expect(merge(row, renamed, true, { owns }).edit?.spec.displayName).toBe('Foyer')
  })

  test.each([
    ['set by a webhook in what the API wrote is adopted', 9001, ['/networking/ports']],
    ['that is only the default of a dropped field is put back', undefined, []],
  ])('%s', (_, containerPort, expected) => {
    const of = aRow({ appliedResourceVersion: '6' })
    const port = { name: 'game', protocol: 'UDP', expose: 'Public' } as const
    const before = { ...of, networking: { ...of.networking, ports: [{ ...port, containerPort: 9000 }] } }
    const row = { ...before, applied: desiredSpec(before) }
    const ports = containerPort === undefined ? undefined : [{ ...port, containerPort }]
    const live = aLive(row, { networking: { ...desiredSpec(row).networking, ports } })
    const { adopted, pushAgain } = merge(row, live, false, { owns: () => true })
    expect({ adopted, pushAgain }).toEqual({ adopted: expected, pushAgain: containerPort === undefined })
  })

  test('of what push wrote is adopted before that push is recorded', () => {
    const row = aRow({ applied: desiredSpec(aRow({ state: 'Stopped', revision: 1 })) })
    expect(adoptedState(row, aLive(row, { state: 'Stopped' }), true)).toBe('Stopped')
    expect(adoptedState(row, aLive(row), true)).toBeUndefined()
  })

  test('that follows an adopted one at once is adopted too', () => {
    const row = aRow({ state: 'Stopped', revision: 3 })
    const applied = { ...desiredSpec(row), revision: 2 }
    expect(adoptedState({ ...row, applied }, aLive(row, { state: 'Running', revision: 2 }), true)).toBe('Running')
  })
})

describe('revisions', () => {
  test('freezes a row whose resource is ahead of it, as after a database restore', () => {
    const row = aRow()
    const ahead = aLive(row, { revision: 9 }, { phase: 'Active', observedRevision: 9 })
    expect(observe(row, ahead, false, { owns: () => true })).toEqual({ is: 'frozen' })
  })

  test('releases a deleted resource whose row is frozen, and ignores the status of its run', () => {
    const row = aRow()
    const ahead = aLive(row, { revision: 9 }, { phase: 'Stopped', observedRevision: 9, observedGeneration: 1 })
    const deletionTimestamp = now.toISOString()
    const going = { ...ahead, metadata: { ...ahead.metadata, generation: 1, deletionTimestamp } }
    const owns = () => true
    const released = { is: 'leaving', markDeleting: false, release: true, state: { deployments: [] } }
    expect(observe(row, going, false, { owns })).toEqual({ ...released, markDeleting: true })
    expect(observe({ ...row, deletingAt: now }, going, false, { owns })).toEqual(released)
    expect(observe(row, going, false, { owns, lost: 'its namespace is being deleted' })).toMatchObject({
      ...released,
      markDeleting: false,
      state: { observed: { statusMessage: 'its namespace is being deleted' } },
    })
  })

  test('continues above a revision that others set', () => {
    const row = aRow()
    const ahead = aLive(row, { revision: 9, description: 'Ahead' })
    const owns = (pointer: string) => !['/revision', '/description'].includes(pointer)
    expect(observe(row, ahead, false, { owns })).toMatchObject({
      foreignRevision: 9,
      edit: { spec: { description: 'Ahead' } },
    })
  })

  test('pushes a row without pending changes again if its resource is behind', () => {
    const row = aRow({ revision: 3 })
    expect(merge(row, aLive(row, { revision: 2 }), false).pushAgain).toBe(true)
    expect(merge(row, aLive(row, { revision: 2 }), true).pushAgain).toBe(false)
  })
})

describe('a deletion', () => {
  const deleted = { deletionTimestamp: now.toISOString() }

  test('by kubectl is recorded first, and keeps the finalizer until no server is left', () => {
    const row = aRow()
    const draining: WorldStatus = {
      phase: 'Stopped',
      observedGeneration: 3,
      observedRevision: 2,
      deployment: { id: 'dep-1', externalId: 'pod', status: 'Stopping', createdAt: now.toISOString() },
    }
    const seen = observe(row, aLive(row, {}, draining, deleted), false)
    expect(seen).toMatchObject({ markDeleting: true, release: false })
  })

  test('removes the finalizer once the operator has seen the deletion and no server is left', () => {
    const row = aRow({ deletingAt: now })
    const gone: WorldStatus = { phase: 'Stopped', observedGeneration: 3, observedRevision: 2 }
    expect(observe(row, aLive(row, {}, gone, deleted), true)).toMatchObject({ markDeleting: false, release: true })
    const before: WorldStatus = { ...gone, observedGeneration: 2 }
    expect(observe(row, aLive(row, {}, before, deleted), true)).toMatchObject({ release: false })
  })
})
