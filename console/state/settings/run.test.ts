import { expect, test } from 'vitest'
import type { World } from '#client/operations.ts'
import { runSettingsOf } from './run.ts'
import { aDeployment, aVersion, aWorld } from './testing/world.ts'

const message = (text: string): Pick<World, 'status'> => ({ status: { ...aWorld().status, message: text } })
const pendingOf = (settings: ReturnType<typeof runSettingsOf>) =>
  Object.entries(settings ?? {}).flatMap(([id, { isPending }]) => (isPending ? [id] : []))

test('without a pending edit, the run has the settings of the world', () => {
  const settings = runSettingsOf(aVersion(), aDeployment())
  expect(pendingOf(settings)).toEqual([])
  expect(settings).toMatchObject({ 'runtime.build': { text: 'live:v7' }, 'admission.capacity': { text: '30' } })
})

test('a pending edit shows the value of the record of the run, or none if the API does not say it', () => {
  const texts = 'It waits. Changes of capacity, map, place take effect at the next start.'
  const settings = runSettingsOf(aVersion(message(texts)), aDeployment('ice'))
  expect(pendingOf(settings)).toEqual(['runtime.mapName', 'admission.capacity'])
  expect(settings).toMatchObject({
    'runtime.mapName': { text: 'ice' },
    'admission.capacity': { isPending: true },
    'compute.region': { text: 'Europe' },
  })
  expect(settings?.['admission.capacity']).not.toHaveProperty('text')
})

test('a pending query is marked, with that of the run if the record has it', () => {
  const query = { protocol: 'A2S', timeoutSeconds: 2 } as const
  const runtime = { ...aWorld().runtime, query }
  const texts = 'Changes of query take effect at the next start.'
  expect(runSettingsOf(aVersion({ runtime, ...message(texts) }), aDeployment())?.['runtime.query']).toEqual({
    isPending: true,
  })
  const { runtime: ran, ...deployment } = aDeployment()
  const asked = { ...deployment, runtime: { ...ran, query: { protocol: 'SQP', timeoutSeconds: 2 } as const } }
  expect(runSettingsOf(aVersion({ runtime }), asked)?.['runtime.query']).toEqual({
    isPending: true,
    text: 'SQP, timeout 2 s',
  })
  expect(runSettingsOf(aVersion({ runtime }), aDeployment())?.['runtime.query']).toEqual({
    text: 'A2S, timeout 2 s',
    isPending: false,
  })
})

test('the record of the run tells a difference that the message does not', () => {
  expect(pendingOf(runSettingsOf(aVersion(), aDeployment('ice')))).toEqual(['runtime.mapName'])
})

test('the record of an earlier run says nothing about the present one', () => {
  const settings = runSettingsOf(aVersion({ status: { ...aWorld().status, runId: 'run-2' } }), aDeployment('ice'))
  expect(pendingOf(settings)).toEqual([])
  expect(settings?.['runtime.mapName']).toEqual({ text: 'dust', isPending: false })
})

test('a build by its content is shown as the world names it', () => {
  const { runtime } = aWorld()
  const settings = runSettingsOf(
    aVersion({ runtime: { ...runtime, build: { content: { id: 'arena' } } } }),
    aDeployment(),
  )
  expect(settings?.['runtime.build']).toEqual({ text: 'Content arena', isPending: false })
})

test.each(['Inactive', 'Stopped', 'Error'] as const)('a world that is %s has no run', (phase) => {
  expect(runSettingsOf(aVersion({ status: { ...aWorld().status, phase } }), aDeployment())).toBeUndefined()
})
