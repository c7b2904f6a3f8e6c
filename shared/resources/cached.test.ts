import { expect, test } from 'vitest'
import { type BotDeployment, botDeploymentSpecSchema, readBotSpec } from './botDeployment.ts'
import { operatorPart } from './cached.ts'
import { isPaused, labels } from './group.ts'
import { readWorldSpec, type World, worldSpecSchema } from './world.ts'

const largeMap = (entries: number, length: number) =>
  Object.fromEntries(Array.from({ length: entries }, (_, at) => [`key-${at}`, 'x'.repeat(length)]))
const kubeMetadata = {
  name: 'lobby',
  namespace: 'home',
  uid: 'u',
  resourceVersion: '1',
  finalizers: ['a/b'],
  labels: { ...largeMap(100, 63), [labels.world]: 'lobby' },
  annotations: { ...largeMap(60, 4_096), 'orrery.dev/paused': 'true' },
}
const metadata = { annotations: largeMap(7, 4_000), labels: {} }
const world = {
  apiVersion: 'orrery.dev/v1alpha1',
  kind: 'World',
  metadata: kubeMetadata,
  spec: worldSpecSchema.parse({ description: 'x'.repeat(256), metadata, runtime: { args: ['--a'] } }),
}
const bots = {
  apiVersion: 'orrery.dev/v1alpha1',
  kind: 'BotDeployment',
  metadata: kubeMetadata,
  spec: botDeploymentSpecSchema.parse({ worldName: 'lobby', count: 1, description: 'x'.repeat(2_048), metadata }),
}

test.each([
  ['World', world, operatorPart(world, readWorldSpec)],
  ['BotDeployment', bots, operatorPart(bots, readBotSpec)],
])('drops the fields of a %s that the operator does not read', (_, whole, kept) => {
  expect(JSON.stringify(whole).length).toBeGreaterThan(250_000)
  expect(JSON.stringify(kept).length).toBeLessThan(1_500)
  expect(isPaused(kept)).toBe(true)
  expect(kept.metadata.labels).toEqual({ [labels.world]: 'lobby' })
  const { annotations: _annotations, labels: _labels, ...rest } = kubeMetadata
  expect(kept.metadata).toMatchObject(rest)
})

test('keeps every field that a run is captured from', () => {
  const { displayName, description, metadata: own, ...read } = world.spec
  expect(operatorPart(world, readWorldSpec).spec).toMatchObject(read)
})

// A cluster administrator can weaken the schema of a definition.
test('keeps a World with defaults for the fields that are missing or unreadable', () => {
  const live = { ...world, spec: { state: 'Running', runtime: 'fast' } as never }
  expect(operatorPart<World>(live, readWorldSpec).spec).toEqual(worldSpecSchema.parse({ state: 'Running' }))
})

test('keeps a BotDeployment with defaults for the fields that are missing or unreadable', () => {
  const live = { ...bots, spec: { worldName: 'lobby', count: 3, compute: [] } as never }
  expect(operatorPart<BotDeployment>(live, readBotSpec).spec).toEqual(
    botDeploymentSpecSchema.parse({ worldName: 'lobby', count: 3 }),
  )
})
