import { expect, test } from 'vitest'
import { pendingEditsMessage, toRunSettings } from './settings.ts'

const source = {
  runtime: { mapName: 'hall', build: { channelId: 'c', tag: 't' } },
  networking: { strategy: 'Default', scaling: { profile: 'Capacity30', configuration: null } },
  admission: { policy: 'Open', capacity: 30 },
  compute: { group: 'production', region: 'Europe' },
} as const
const running = { ...source, phase: 'Active' as const, startedWith: toRunSettings(source) }

test.each([
  ['no change', {}, ''],
  ['a policy, which takes effect at once', { admission: { policy: 'Closed', capacity: 30 } }, ''],
  ['a map', { runtime: { ...source.runtime, mapName: 'roof' } }, 'Changes of map take effect'],
  ['a removed build', { runtime: { mapName: 'hall' } }, 'Changes of build take effect'],
  ['a place', { compute: { group: 'staging', region: 'Europe' } }, 'Changes of place take effect'],
  [
    'several settings, in order',
    {
      admission: { policy: 'Open', capacity: 5 },
      networking: { strategy: 'NodePort', scaling: { profile: 'Capacity60', configuration: null } },
    },
    'Changes of scaling profile, capacity, networking strategy take effect',
  ],
] as const)('names pending edits of an active world: %s', (_, changes, expected) => {
  const message = pendingEditsMessage({ ...running, ...changes })
  if (expected === '') expect(message).toBe('')
  else expect(message).toContain(expected)
})

test.each(['Inactive', 'Stopped', 'Error'] as const)('names no pending edits in phase %s', (phase) => {
  expect(pendingEditsMessage({ ...running, phase, runtime: { mapName: 'roof' } })).toBe('')
})
