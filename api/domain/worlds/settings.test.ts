import { expect, test } from 'vitest'
import { runSettings, waitingEdits } from './settings.ts'

const settled = {
  runtime: { mapName: 'hall', build: { channelId: 'c', tag: 't' } },
  networking: { strategy: 'Default', scaling: { profile: 'Capacity30', configuration: null } },
  admission: { policy: 'Open', capacity: 30 },
  compute: { group: 'production', region: 'Europe' },
} as const
const running = { ...settled, phase: 'Active' as const, startedWith: runSettings(settled) }

test.each([
  ['nothing changed', {}, ''],
  ['a policy acts at once', { admission: { policy: 'Closed', capacity: 30 } }, ''],
  ['a map', { runtime: { ...settled.runtime, mapName: 'roof' } }, 'another map takes effect'],
  ['a build that is gone', { runtime: { mapName: 'hall' } }, 'another build takes effect'],
  ['a place', { compute: { group: 'staging', region: 'Europe' } }, 'another place takes effect'],
  [
    'two things, in order',
    {
      admission: { policy: 'Open', capacity: 5 },
      networking: { strategy: 'NodePort', scaling: { profile: 'Capacity60', configuration: null } },
    },
    'another scaling profile, capacity, networking strategy takes effect',
  ],
] as const)('of a running world: %s', (_, changes, told) => {
  const message = waitingEdits({ ...running, ...changes })
  if (told === '') expect(message).toBe('')
  else expect(message).toContain(told)
})

test.each(['Inactive', 'Stopped', 'Error'] as const)('nothing waits while the world is %s', (phase) => {
  expect(waitingEdits({ ...running, phase, runtime: { mapName: 'roof' } })).toBe('')
})
