import { expect, test } from 'vitest'
import type { World } from '#client/operations.ts'
import { type Draft, dropEdit, editedFields, editField } from './draft.ts'
import { fieldOfAdvice, fields } from './fields.ts'
import { writeQuery } from './forms.ts'
import { faultsBeside, patchOf, removedWith } from './patch.ts'
import { aVersion, aWorld } from './testing/world.ts'
import type { Version } from './version.ts'

const draftOf = (edits: Record<string, string>, version = aVersion()): Draft => {
  let draft: Draft | undefined
  for (const [id, text] of Object.entries(edits)) draft = editField(draft, version, id, text)
  if (draft === undefined) throw new Error('nothing is edited')
  return draft
}
const patched = (edits: Record<string, string>, version = aVersion()) => patchOf(draftOf(edits, version))

test('the patch has the edited members only, and their other settings as they were', () => {
  const { networking, runtime } = aWorld()
  expect(patched({ name: 'Hall' })).toEqual({ patch: { name: 'Hall' } })
  expect(patched({ 'runtime.mapName': 'ice' })).toEqual({
    patch: { runtime: { build: runtime.build, mapName: 'ice', durationMinutes: 60 } },
  })
  expect(patched({ 'networking.strategy': 'NodePort' })).toEqual({
    patch: { networking: { ...networking, strategy: 'NodePort' } },
  })
  expect(patched({ 'compute.region': 'AsiaPacific' })).toEqual({
    patch: { compute: { group: 'production', region: 'AsiaPacific', version: '2' } },
  })
  expect(patched({ 'metadata.labels': 'a=b' })).toEqual({
    patch: { metadata: { annotations: {}, labels: { a: 'b' } } },
  })
})

test('a query is patched with its parts, and removed with its protocol', () => {
  const query = { protocol: 'A2S', port: 27_015 } as const
  const text = writeQuery({ protocol: 'A2S', port: ' 27015', timeoutSeconds: '' })
  expect(patched({ 'runtime.query': text })).toMatchObject({ patch: { runtime: { mapName: 'dust', query } } })
  const { runtime } = aWorld()
  const asked = aVersion({ runtime: { ...runtime, query: { ...query, timeoutSeconds: 2 } } })
  const none = writeQuery({ protocol: '', port: '27015', timeoutSeconds: '2' })
  expect(patched({ 'runtime.query': none }, asked)).toEqual({
    patch: { runtime: { build: runtime.build, mapName: 'dust', durationMinutes: 60 } },
  })
})

test('a wake that is absent is Never, and is patched only with an edit', () => {
  const { runtime } = aWorld()
  expect(aVersion().texts['runtime.wakeOnAccess']).toBe('Never')
  expect(patched({ 'runtime.idleStopMinutes': '15' })).toEqual({
    patch: { runtime: { build: runtime.build, mapName: 'dust', durationMinutes: 60, idleStopMinutes: 15 } },
  })
  const access = aVersion({ runtime: { ...runtime, wakeOnAccess: 'Access' } })
  expect(patched({ 'runtime.wakeOnAccess': 'Never' }, access)).toMatchObject({
    patch: { runtime: { wakeOnAccess: 'Never' } },
  })
})

const nightly = { timeZone: 'Europe/Berlin', start: '0 18 * * FRI', restart: { at: '0 5 * * *' } } as const
const withSchedule = (schedule: NonNullable<World['runtime']['schedule']>) =>
  aVersion({ runtime: { ...aWorld().runtime, schedule } })
const scheduled = (edits: Record<string, string>, version?: Version): unknown => {
  const made = patched(
    Object.fromEntries(Object.entries(edits).map(([id, text]) => [`runtime.schedule.${id}`, text])),
    version,
  )
  return 'faults' in made ? made : made.patch.runtime?.schedule
}

test('a schedule is patched whole, with one space between the fields of cron, and other edits keep it', () => {
  expect(scheduled({ start: ' 0  18 * * FRI ' })).toEqual({ start: '0 18 * * FRI' })
  expect(scheduled({ stop: '0 2 * * SAT', timeZone: '' }, withSchedule(nightly))).toEqual({
    start: '0 18 * * FRI',
    stop: '0 2 * * SAT',
    restart: { at: '0 5 * * *' },
  })
  expect(scheduled({ 'restart.at': '0 6 * * *', 'restart.whenEmptyWithinMinutes': '30' })).toEqual({
    restart: { at: '0 6 * * *', whenEmptyWithinMinutes: 30 },
  })
  expect(patched({ 'runtime.mapName': 'ice' }, withSchedule(nightly))).toMatchObject({
    patch: { runtime: { mapName: 'ice', schedule: nightly } },
  })
})

test('a restart is removed with its times, and a schedule with its last ones', () => {
  const nightlyIfEmpty = { ...nightly, restart: { at: '0 5 * * *', whenEmptyWithinMinutes: 30 } }
  const version = withSchedule(nightlyIfEmpty)
  const { timeZone, start } = nightly
  expect(scheduled({ 'restart.at': ' ' }, version)).toEqual({ timeZone, start })
  expect(scheduled({ start: '', 'restart.at': '' }, version)).toBeUndefined()
  const draft = draftOf({ 'runtime.schedule.start': '', 'runtime.schedule.restart.at': '' }, version)
  const made = patchOf(draft)
  expect('patch' in made && removedWith(draft, made.patch).map(({ id }) => id)).toEqual([
    'runtime.schedule.restart.whenEmptyWithinMinutes',
    'runtime.schedule.timeZone',
  ])
  expect('patch' in made && 'runtime' in made.patch).toBe(true)
})

test('an edit removes no other setting if times are left, or if it is not one of the schedule', () => {
  const removed = (edits: Record<string, string>) => {
    const draft = draftOf(edits, withSchedule(nightly))
    const made = patchOf(draft)
    return 'patch' in made && removedWith(draft, made.patch)
  }
  expect(removed({ 'runtime.schedule.start': '' })).toEqual([])
  expect(removed({ 'runtime.mapName': 'ice' })).toEqual([])
  expect(removed({ name: 'Hall' })).toEqual([])
})

test('an edited part of a schedule that is nothing without times is not dropped', () => {
  expect(scheduled({ timeZone: 'Europe/Paris' })).toEqual({ timeZone: 'Europe/Paris' })
  expect(scheduled({ start: '', 'restart.at': '', timeZone: 'Europe/Paris' }, withSchedule(nightly))).toEqual({
    timeZone: 'Europe/Paris',
  })
  const minutes = 'runtime.schedule.restart.whenEmptyWithinMinutes'
  const fault = { faults: { [minutes]: ['needs a scheduled restart'] } }
  expect(patched({ [minutes]: '30' })).toEqual(fault)
  expect(patched({ [minutes]: '30', 'runtime.schedule.restart.at': '' }, withSchedule(nightly))).toEqual(fault)
  expect(patched({ [minutes]: 'soon' })).toEqual({ faults: { [minutes]: ['must be a number'] } })
})

test('an emptied setting is absent', () => {
  expect(patched({ 'runtime.build': '', 'runtime.durationMinutes': '' })).toEqual({
    patch: { runtime: { mapName: 'dust' } },
  })
})

test('a capacity that is that of the profile follows it, and another one stays', () => {
  const edits = { 'admission.policy': 'Queued' }
  expect(patched(edits)).toEqual({ patch: { admission: { policy: 'Queued' } } })
  const own = aVersion({ admission: { policy: 'Open', capacity: 12 } })
  expect(patched(edits, own)).toEqual({ patch: { admission: { policy: 'Queued', capacity: 12 } } })
  expect(patched({ 'admission.capacity': '8' })).toEqual({ patch: { admission: { policy: 'Open', capacity: 8 } } })
})

test('a capacity that is edited with the profile is in the patch, and so is one that stays', () => {
  const profile = { 'networking.scaling.profile': 'Capacity60' }
  expect(patched(profile)).toMatchObject({ patch: { admission: { policy: 'Open', capacity: 60 } } })
  const kept = dropEdit(draftOf(profile), aVersion(), 'admission.capacity')
  expect(kept && patchOf(kept)).toMatchObject({ patch: { admission: { policy: 'Open', capacity: 30 } } })
})

test('a text that cannot be read is a fault of its setting, and there is no patch', () => {
  expect(patched({ name: 'Hall', 'networking.ports': '[' })).toEqual({
    faults: { 'networking.ports': ['is not JSON'] },
  })
})

test('faults of the API stand beside the edited setting that they are about', () => {
  const edited = editedFields(draftOf({ 'networking.ports': '[]', 'metadata.labels': 'a=b', 'runtime.build': '' }))
  const errors = ['/networking/ports/0/name', '/metadata', '/runtime/build', '/name', '/networking/portsX'].map(
    (path) => ({ path, message: 'is wrong' }),
  )
  expect(faultsBeside(errors, edited)).toEqual({
    faults: {
      'networking.ports': ['/0/name is wrong'],
      'metadata.labels': ['is wrong'],
      'runtime.build': ['is wrong'],
    },
    others: errors.slice(3),
  })
})

test('each advice that names a setting leads to one', () => {
  const advised = ['compute', 'networking.ports', 'networking.scaling.profile', 'networking.strategy', 'runtime.build']
  expect(advised.map((each) => fieldOfAdvice(each)?.id)).toEqual(['compute.group', ...advised.slice(1)])
  expect(fieldOfAdvice('other')).toBeUndefined()
  expect(new Set(fields.map(({ id }) => id)).size).toBe(fields.length)
})
