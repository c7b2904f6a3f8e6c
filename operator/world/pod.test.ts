import { describe, expect, test } from 'vitest'
import { aWorld, captured, podOfRun, settings } from '#operator/testing/world.ts'
import { runtimeSettings, serverSettings, settingVariable } from '#shared/domain/world.ts'
import { queryProtocols } from '#shared/enumerations.ts'
import { withDefined } from '#shared/optional.ts'
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

/** The Service alone depends on the strategy, and the operator's poll on these fields of the query. */
const notInPods = ['/networking/strategy', '/runtime/query/port', '/runtime/query/timeoutSeconds']

test.each(serverChanges.filter(({ pointer }) => !notInPods.includes(pointer)))(
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

test.each(changesOf(runtimeSettings).filter(({ pointer }) => !pointer.startsWith('/query/')))(
  'a server gets the setting $pointer in its environment',
  ({ pointer, change }) => {
    const { spec } = buildPod(aWorld({}), { ...run, ...change }, settings)
    const [container] = (spec as { containers: Container[] }).containers
    const [value] = Object.values(change)
    expect(container?.env).toContainEqual({ name: settingVariable(pointer.slice(1)), value: String(value) })
  },
)

describe('the pod of a server that is asked by', () => {
  const containerOf = (query: WorldRun['query'], probes: boolean): Container => {
    const { spec } = buildPod(aWorld({}), { ...run, probes, ...withDefined({ query }) }, settings)
    const [container] = (spec as { containers: Container[] }).containers
    if (container === undefined) throw new Error('The pod has no container.')
    return container
  }
  const probesOf = (container: Container): string[] => Object.keys(container).filter((key) => key.endsWith('Probe'))

  test.each(queryProtocols)('%s has probes only if the protocol is Http and the setting probes is true', (protocol) => {
    const query = { protocol, timeoutSeconds: 2 }
    expect(probesOf(containerOf(query, true))).toHaveLength(protocol === 'Http' ? 3 : 0)
    expect(probesOf(containerOf(query, false))).toEqual([])
  })

  test.each(queryProtocols)('%s has the same environment as any other', (protocol) => {
    const query = { protocol, port: 7777, timeoutSeconds: 2 }
    expect(containerOf(query, true).env).toEqual(containerOf(undefined, true).env)
  })
})

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
