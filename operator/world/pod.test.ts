import { expect, test } from 'vitest'
import { aWorld, captured, podOfRun, settings } from '#operator/testing/world.ts'
import { runtimeSettings, serverSettings, settingVariable } from '#shared/domain/world.ts'
import { changesOf } from '#shared/resources/testing/changes.ts'
import { capturedRunFields, type WorldRun, worldSpecSchema } from '#shared/resources/world.ts'
import type { Placement } from './placement.ts'
import { buildPod, isBuiltFrom } from './pod.ts'
import { captureRun } from './run.ts'

type Container = { startupProbe: { failureThreshold: number }; env: object[] }

const run = captured().status?.run as WorldRun

test.each(capturedRunFields)('detects a pod of another run by the field %s', (field) => {
  expect(isBuiltFrom(podOfRun(run), run)).toBe(true)
  expect(isBuiltFrom(podOfRun(run), { ...run, [field]: 'another' })).toBe(false)
})

const serverFields = ['scaling', ...Object.keys(serverSettings.shape)]
const serverChanges = changesOf(worldSpecSchema).filter(({ pointer }) =>
  serverFields.includes(pointer.split('/')[1] ?? ''),
)

test.each(serverChanges)('a run keeps $pointer from its start', ({ change }) => {
  const capture = (spec: object) => captureRun({ world: aWorld(spec), policy: {}, settings, nowMs: 0 }, run.id)
  expect(capture(change)).not.toEqual(capture({}))
})

test.each(serverChanges.filter(({ pointer }) => pointer !== '/networking/strategy'))(
  'the pod of a server depends on $pointer',
  ({ change }) => {
    const placement: Placement[] = [
      { group: 'production', region: 'Europe', nodeLabels: { zone: 'a' }, tolerations: [] },
    ]
    const build = (spec: object) => {
      const placed = { ...settings, placement }
      const captured = captureRun({ world: aWorld(spec), policy: {}, settings: placed, nowMs: 0 }, run.id)
      return buildPod(aWorld({}), captured, placed).spec
    }
    expect(build(change)).not.toEqual(build({}))
  },
)

test.each(changesOf(runtimeSettings))(
  'a server gets the setting $pointer in its environment',
  ({ pointer, change }) => {
    const { spec } = buildPod(aWorld({}), { ...run, ...change }, settings)
    const [container] = (spec as { containers: Container[] }).containers
    const [value] = Object.values(change)
    expect(container?.env).toContainEqual({ name: settingVariable(pointer.slice(1)), value: String(value) })
  },
)

test('a server gets the number of its first public port, and of each port by its name', () => {
  const ports: WorldRun['ports'] = [
    { name: 'rcon-tls', containerPort: 25_575, protocol: 'TCP', expose: 'Internal' },
    { name: 'game', containerPort: 9000, protocol: 'UDP', expose: 'Public' },
  ]
  const { spec } = buildPod(aWorld({}), { ...run, ports }, settings)
  const [container] = (spec as { containers: Container[] }).containers
  const numbers = { ORRERY_PORT: '9000', ORRERY_PORT_RCON_TLS: '25575', ORRERY_PORT_GAME: '9000' }
  for (const [name, value] of Object.entries(numbers)) expect(container?.env).toContainEqual({ name, value })
})

test('recognizes the pod of its run after any later edit', () => {
  const later = { ...run, startedAt: '2030-01-01T00:00:00Z', restarts: 2, readyAt: '2030-01-01T00:00:00Z' }
  expect(isBuiltFrom(podOfRun(run), later)).toBe(true)
})

test('liveness counts only once the server was ready, for which it has the whole start deadline', () => {
  const { spec } = buildPod(aWorld({}), run, { ...settings, startDeadlineMs: 600_000 })
  const [container] = (spec as { containers: Container[] }).containers
  expect(container?.startupProbe).toMatchObject({ httpGet: { path: '/readyz' }, periodSeconds: 1 })
  expect(container?.startupProbe.failureThreshold).toBeGreaterThan(600)
})
