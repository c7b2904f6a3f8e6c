import { expect, test } from 'vitest'
import { botDeploymentSpecSchema } from './botDeployment.ts'
import { worldSpecSchema } from './world.ts'

const manyEntries = Object.fromEntries(Array.from({ length: 257 }, (_, index) => [`key-${index}`, '']))

test.each([
  ['a duration above 10 years', { durationMinutes: 5_256_001 }],
  ['more than 256 annotations', { metadata: { annotations: manyEntries } }],
  ['an empty label key', { metadata: { labels: { '': 'x' } } }],
])('rejects %s in both resources, as REST does', (_case, fields) => {
  expect(worldSpecSchema.safeParse(fields).success).toBe(false)
  expect(botDeploymentSpecSchema.safeParse({ worldName: 'w', count: 1, ...fields }).success).toBe(false)
})

test('fills in every default of a spec', () => {
  expect(worldSpecSchema.parse({})).toEqual({
    displayName: '',
    description: '',
    state: 'Stopped',
    transient: false,
    scaling: { profile: 'Capacity30' },
    compute: { group: 'production', region: 'Europe' },
    networking: {
      strategy: 'Default',
      ports: [{ name: 'game', containerPort: 7777, protocol: 'TCPUDP', expose: 'Public' }],
    },
    runtime: { mapName: '', probes: true, args: [] },
    metadata: { annotations: {}, labels: {} },
  })
})
