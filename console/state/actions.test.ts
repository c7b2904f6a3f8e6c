import { describe, expect, test } from 'vitest'
import type { World } from '#client/operations.ts'
import {
  type ActionKind,
  type ActionPhase,
  actionPhaseOf,
  actions,
  delayOfRestore,
  isShown,
  nameEdit,
  offersIn,
  type Seen,
} from './actions.ts'
import type { Phase } from './row.ts'
import { aWorld } from './settings/testing/world.ts'

describe('a world', () => {
  test.each<[ActionPhase, ActionKind[]]>([
    ['Inactive', ['start', 'delete']],
    ['Starting', ['restart', 'stop', 'delete']],
    ['Active', ['restart', 'stop', 'delete']],
    ['Stopped', ['start', 'delete']],
    ['Error', ['start', 'delete']],
    ['Asleep', ['start', 'wake', 'stop', 'delete']],
  ])('that is %s can be %j', (phase, kinds) => {
    expect(offersIn(phase, []).map(({ kind }) => kind)).toEqual(kinds)
  })

  test.each<[string, ActionPhase, string[], ActionKind[]]>([
    ['a start of a failed world', 'Error', ['start', 'readLog'], ['start']],
    ['a start or a wake of a world that sleeps', 'Asleep', ['start'], ['start', 'wake']],
    ['no start before an edit', 'Error', ['edit', 'start', 'readLog'], []],
    ['a restart of a world that runs', 'Active', ['readLog', 'restart'], ['restart']],
    ['no restart before an edit', 'Active', ['edit', 'restart'], []],
    ['a start of a world that runs meanwhile', 'Starting', ['start'], ['restart']],
    ['a stop of a world that has stopped meanwhile', 'Stopped', ['stop'], []],
    ['nothing but to wait', 'Starting', ['wait'], []],
  ])('marks what helps: %s', (_, phase, advised, marked) => {
    const helpful = offersIn(phase, advised).filter(({ isAdvised }) => isAdvised)
    expect(helpful.map(({ kind }) => kind)).toEqual(marked)
  })
})

const asleepSince = '2026-11-01T00:00:00.000Z'
test.each<[string, Phase, World['status']['idle'], 'Never' | 'Access' | undefined, ActionPhase]>([
  ['can be woken', 'Stopped', { asleepSince }, 'Access', 'Asleep'],
  ['is started if it may not be woken', 'Stopped', { asleepSince }, 'Never', 'Stopped'],
  ['is started if it does not say that it may be woken', 'Stopped', { asleepSince }, undefined, 'Stopped'],
  ['runs in the newer feed', 'Starting', { asleepSince }, 'Access', 'Starting'],
])('a world that sleeps %s', (_, phase, idle, wakeOnAccess, expected) => {
  const { status, runtime } = aWorld()
  const world = {
    status: { ...status, ...(idle && { idle }) },
    runtime: { ...runtime, ...(wakeOnAccess && { wakeOnAccess }) },
  }
  expect(actionPhaseOf(phase, world)).toBe(expected)
})

test('a world that was stopped otherwise does not sleep', () => {
  const { status, runtime } = aWorld()
  expect(actionPhaseOf('Stopped', { status, runtime: { ...runtime, wakeOnAccess: 'Access' } })).toBe('Stopped')
  expect(actionPhaseOf('Stopped', undefined)).toBe('Stopped')
})

test('an edit is named by what it chooses', () => {
  const profile = 'networking.scaling.profile'
  expect(nameEdit(profile, 'OutOfMemory')).toBe('Choose a larger profile')
  expect(nameEdit(profile, 'Unschedulable')).toBe('Choose a smaller profile')
  expect(nameEdit('runtime.build', 'ImagePullFailed')).toBe('Choose another build')
  expect(nameEdit('toString', 'Novel')).toBe('Edit the settings')
})

test('only a wake, a stop and a restore happen whatever others have done meanwhile', () => {
  const kinds = Object.entries(actions).filter(([, { isConditional }]) => !isConditional)
  expect(kinds.map(([kind]) => kind)).toEqual(['wake', 'stop', 'restore'])
})

const seen = (version: string, etag = ''): Seen => ({ version, etag })
test.each<[string, ActionKind, Seen, Seen, boolean]>([
  ['not a start before the feed has changed', 'start', seen('1', '"7.a"'), seen('1', '"8.b"'), false],
  ['not a start before the world was read again', 'start', seen('1', '"7.a"'), seen('2', '"7.a"'), false],
  ['not a start when only the status has changed', 'start', seen('1', '"7.a"'), seen('2', '"7.b"'), false],
  ['a start', 'start', seen('1', '"7.a"'), seen('2', '"8.b"'), true],
  ['a start of a world that was not read before', 'start', seen('1'), seen('2', '"8.b"'), true],
  ['not a start before the feed has shown the world', 'start', seen('', '"7.a"'), seen('', '"8.b"'), false],
  ['a stop of a world that was deleted meanwhile', 'stop', seen('1', '"7.a"'), seen('', '"7.a"'), true],
  ['not a deletion while the feed still has the world', 'delete', seen('1', '"7.a"'), seen('2', '"8.b"'), false],
  ['a deletion', 'delete', seen('1', '"7.a"'), seen('', '"7.a"'), true],
  ['not a restore before the feed has the world', 'restore', seen('', '"7.a"'), seen('', '"8.b"'), false],
  ['a restore', 'restore', seen('', '"7.a"'), seen('3', '"9.c"'), true],
])('the page shows %s', (_, kind, before, now, shown) => {
  expect(isShown(kind, { before, now })).toBe(shown)
})

describe('a restore', () => {
  const refused = { status: 409, code: 'conflict', detail: '', requestId: undefined, retryAfterSeconds: undefined }
  test.each([
    ['waits while the cluster removes the world', refused, 1, 1_000],
    ['does not wait for ever', refused, 90, undefined],
    ['does not wait at a limit', { ...refused, code: 'limit_reached' }, 1, undefined],
    ['does not wait without a permission', { ...refused, status: 403, code: 'forbidden' }, 1, undefined],
  ])('%s', (_, failure, attempts, delayMs) => {
    expect(delayOfRestore(failure, attempts)).toBe(delayMs)
  })
})
