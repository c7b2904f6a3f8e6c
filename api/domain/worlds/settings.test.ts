import { getTableColumns } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { defaultPorts } from '#shared/domain/ports.ts'
import { serverSettings } from '#shared/domain/world.ts'
import { worldSpecSchema } from '#shared/resources/world.ts'
import { createWorldBody, patchWorldBody, worldAnswer } from './schema.ts'
import { pendingEditsMessage, toRunSettings } from './settings.ts'
import { worlds } from './table.ts'

const source = {
  ...serverSettings.parse({}),
  runtime: { mapName: 'hall', build: { channelId: 'c', tag: 't' } },
  networking: { strategy: 'Default', ports: defaultPorts, scaling: { profile: 'Capacity30', configuration: null } },
  admission: { policy: 'Open', capacity: 30 },
} satisfies Parameters<typeof toRunSettings>[0]
const running = { ...source, phase: 'Active' as const, startedWith: toRunSettings(source) }

test.each([
  ['no change', {}, ''],
  ['a policy, which takes effect at once', { admission: { policy: 'Closed', capacity: 30 } }, ''],
  ['a map', { runtime: { ...source.runtime, mapName: 'roof' } }, 'Changes of map take effect'],
  [
    'a query',
    { runtime: { ...source.runtime, query: { protocol: 'A2S', timeoutSeconds: 2 } } },
    'Changes of query take',
  ],
  ['a removed build', { runtime: { mapName: 'hall' } }, 'Changes of build take effect'],
  ['a place', { compute: { group: 'staging', region: 'Europe' } }, 'Changes of place take effect'],
  [
    'several settings, in order',
    {
      admission: { policy: 'Open', capacity: 5 },
      networking: {
        strategy: 'NodePort',
        ports: defaultPorts.slice(1),
        scaling: { profile: 'Capacity60', configuration: null },
      },
    },
    'Changes of scaling profile, capacity, networking strategy, ports take effect',
  ],
] as const)('names pending edits of an active world: %s', (_, changes, expected) => {
  const message = pendingEditsMessage({ ...running, ...changes })
  if (expected === '') expect(message).toBe('')
  else expect(message).toContain(expected)
})

const asked = { ...source, runtime: { ...source.runtime, query: { protocol: 'SQP', timeoutSeconds: 2 } } } as const

test('names a removed query, and one that a run of an older version lacks', () => {
  const run = { ...running, startedWith: toRunSettings(asked) }
  expect(pendingEditsMessage({ ...run, ...asked })).toBe('')
  expect(pendingEditsMessage(run)).toBe('Changes of query take effect at the next start.')
  const { query: _, ...older } = running.startedWith
  expect(pendingEditsMessage({ ...running, startedWith: older })).toBe('')
  expect(pendingEditsMessage({ ...running, ...asked, startedWith: older })).toContain('Changes of query take')
})

test.each(['Inactive', 'Stopped', 'Error'] as const)('names no pending edits in phase %s', (phase) => {
  expect(pendingEditsMessage({ ...running, phase, runtime: { mapName: 'roof' } })).toBe('')
})

test.each(Object.keys(serverSettings.shape))('every view of a world has the setting %s', (setting) => {
  const views = {
    'createWorldBody in schema.ts': createWorldBody.shape,
    'patchWorldBody in schema.ts': patchWorldBody.shape,
    'world in schema.ts': worldAnswer.shape,
    'worlds in table.ts': getTableColumns(worlds),
    'worldSpecSchema in shared/resources/world.ts': worldSpecSchema.shape,
  }
  expect(Object.entries(views).flatMap(([view, fields]) => (setting in fields ? [] : [view]))).toEqual([])
})
