import { describe, expect, test } from 'vitest'
import type { Pod } from '#operator/pods/pod.ts'
import { at, runA, startMs } from '#operator/testing/common.ts'
import {
  aGrant,
  aNode,
  aPod,
  applyStatus,
  aWorld,
  conditionOf,
  planFor,
  ready,
  running,
  settings,
  tenant,
  verbs,
} from '#operator/testing/world.ts'
import { podPorts, type WorldPort } from '#shared/domain/ports.ts'
import { createHostPortUse } from './hostPorts.ts'
import { buildPod } from './pod.ts'
import type { PlanInput } from './step.ts'

const game: WorldPort = { name: 'game', containerPort: 7777, protocol: 'TCPUDP', expose: 'Public' }
const rcon: WorldPort = { name: 'rcon', containerPort: 25_575, protocol: 'TCP', expose: 'Internal' }
const fixed: WorldPort = { ...game, name: 'fixed', containerPort: 80, policy: 'Static', hostPort: 27_015 }
const passed: WorldPort = { ...game, name: 'passed', containerPort: 81, protocol: 'UDP', policy: 'Passthrough' }

const allowed = { hostPorts: true } as const
const worldWith = (ports: WorldPort[] = [game], policy: PlanInput['policy'] = allowed) =>
  aWorld({
    ...running,
    networking: { strategy: 'HostPort', ports },
    ...(policy.organization === undefined ? {} : { granted: aGrant({ strategy: 'HostPort', ports }) }),
  })
const key = 'default/world'
const ledger = () => createHostPortUse(settings.hostPorts)
const plan = (world: ReturnType<typeof worldWith>, pod?: Pod, around: Partial<PlanInput> = {}, nowMs = startMs) =>
  planFor(world, pod, nowMs, undefined, { policy: allowed, hostPorts: ledger().of(key), ...around })
/** The world after the status that its first plan wrote. */
const started = (ports?: WorldPort[]) => {
  const world = worldWith(ports)
  return applyStatus(world, plan(world))
}
const podWith = (ports: WorldPort[], numbers: number[], changes: Parameters<typeof aPod>[0] = {}): Pod => ({
  ...aPod(changes),
  spec: { nodeName: 'node-1', containers: [{ name: 'server', ports: podPorts(ports, numbers) }] },
})

describe('a world with the strategy HostPort', () => {
  test('gets a pod with a host port for each public port, and no service', () => {
    const { steps } = plan(worldWith([game, rcon, fixed, passed]))
    expect(steps).toMatchObject([{ verb: 'createPod', hostPorts: [7000, 27_015, 7001] }])
  })

  test('has the host ports in its pod, and tells the server on which port to listen', () => {
    const world = worldWith([game, rcon, fixed, passed])
    const [step] = plan(world).steps
    if (step?.verb !== 'createPod') throw new Error('no pod')
    const { spec } = buildPod(world, step.run, settings, allowed, step.hostPorts)
    expect(spec.containers[0]?.ports).toEqual([
      { name: 'public-1-tcp', containerPort: 7777, protocol: 'TCP', hostPort: 7000 },
      { name: 'public-1-udp', containerPort: 7777, protocol: 'UDP', hostPort: 7000 },
      { name: 'internal-2-tcp', containerPort: 25_575, protocol: 'TCP' },
      { name: 'public-3-tcp', containerPort: 80, protocol: 'TCP', hostPort: 27_015 },
      { name: 'public-3-udp', containerPort: 80, protocol: 'UDP', hostPort: 27_015 },
      { name: 'public-4-udp', containerPort: 7001, protocol: 'UDP', hostPort: 7001 },
      { name: 'health', containerPort: 8080, protocol: 'TCP' },
    ])
    const env = Object.fromEntries(spec.containers[0]?.env?.map(({ name, value }) => [name, value]) ?? [])
    expect(env).toMatchObject({ ORRERY_PORT: '7777', ORRERY_PORT_FIXED: '80', ORRERY_PORT_PASSED: '7001' })
  })

  test('is Active at the address of its node and the ports of its pod, and keeps them while the node lacks its address', () => {
    const ports = [game, rcon, fixed]
    const pod = podWith(ports, [7005, 27_015], { status: ready() })
    const first = plan(started(ports), pod, { node: aNode() })
    const addresses = [
      { name: 'game', protocol: 'TCPUDP', host: '203.0.113.1', port: 7005 },
      { name: 'fixed', protocol: 'TCPUDP', host: '203.0.113.1', port: 27_015 },
    ]
    expect(first.status).toMatchObject({ phase: 'Active', address: { host: '203.0.113.1', port: 7005 }, addresses })
    const without = aNode('True', { status: { conditions: aNode().status?.conditions ?? [] } })
    const later = plan(applyStatus(started(ports), first), pod, { node: without })
    expect(later.status).toMatchObject({ phase: 'Active', addresses })
    expect(conditionOf(later.status, 'Degraded')).toBe('True/AddressMissing')
  })

  test.each([
    ['in a namespace without host ports', [game], {}, /may not use host ports/],
    ['in the namespace of an organization without host ports', [game], tenant, /may not use host ports/],
    ['with an unknown range', [{ ...game, range: 'other' }], allowed, /Range other of port game/],
    ['with a static port of others', [{ ...fixed, hostPort: 80 }], allowed, /Host port 80 of port fixed/],
  ] as [string, WorldPort[], PlanInput['policy'], RegExp][])('%s gets no pod', (_, ports, policy, message) => {
    const { steps, status } = plan(worldWith(ports, policy), undefined, { policy })
    expect(steps).toEqual([])
    expect(conditionOf(status, 'Degraded')).toBe('True/HostPortNotAllowed')
    expect(status.message).toMatch(message)
  })

  test('of which the range has fewer ports is PortsExhausted', () => {
    const small = createHostPortUse(new Map([['default', [{ first: 7000, last: 7000 }]]]))
    const planned = plan(worldWith([game, { ...game, name: 'more', containerPort: 1 }]), undefined, {
      hostPorts: small.of(key),
    })
    expect(verbs(planned)).toEqual([])
    expect(conditionOf(planned.status, 'Degraded')).toBe('True/PortsExhausted')
  })
})

describe('a pod that found no node', () => {
  const portsMessage = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't have free ports for the pod."
  const unscheduled = (message: string): NonNullable<Pod['status']> => ({
    phase: 'Pending',
    conditions: [
      { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message, lastTransitionTime: at(startMs) },
    ],
  })
  type Case = { ports?: WorldPort[]; message?: string; replaced?: number; afterMs?: number }
  const planCase = ({ ports = [game], message = portsMessage, replaced = 0, afterMs = 5_000 }: Case) => {
    const use = ledger()
    const pod = podWith(
      ports,
      ports.map(({ hostPort = 7003 }) => hostPort),
      { status: unscheduled(message) },
    )
    const { nodeName: _, ...spec } = pod.spec ?? {}
    for (let count = 0; count < replaced; count += 1) use.replace(key, runA, pod, startMs)
    return plan(started(ports), { ...pod, spec }, { hostPorts: use.of(key) }, startMs + afterMs)
  }

  test('with its host ports is replaced after 5 s, without a restart', () => {
    const planned = planCase({})
    expect(verbs(planned)).toEqual(['replacePod'])
    expect(planned.status.run?.restarts).toBe(0)
    const early = planCase({ afterMs: 4_000 })
    expect(verbs(early)).toEqual([])
    expect(early.requeueAfterMs).toBe(1_000)
  })

  test('for another reason stays, and is Unschedulable', () => {
    const planned = planCase({ message: '0/1 nodes are available: 1 Insufficient cpu.', replaced: 1 })
    expect(verbs(planned)).toEqual([])
    expect(conditionOf(planned.status, 'Degraded')).toBe('True/Unschedulable')
  })

  test('is replaced five times, then the world is PortsExhausted, and a pod is replaced each minute', () => {
    const fifth = planCase({ replaced: 4 })
    expect(verbs(fifth)).toEqual(['replacePod'])
    expect(conditionOf(fifth.status, 'Degraded')).toContain('False')
    const planned = planCase({ replaced: 5 })
    expect(verbs(planned)).toEqual([])
    expect(planned.requeueAfterMs).toBe(55_000)
    expect(conditionOf(planned.status, 'Degraded')).toBe('True/PortsExhausted')
    expect(verbs(planCase({ replaced: 5, afterMs: 60_000 }))).toEqual(['replacePod'])
  })

  test.each([
    [1, 'False', 'Looking for a node with free host ports.'],
    [5, 'True/PortsExhausted', 'No node with free host ports was found'],
  ])('after %i replaced pods keeps its reason while the next one is made', (replaced, degraded, message) => {
    const use = ledger()
    for (let count = 0; count < replaced; count += 1) use.replace(key, runA, podWith([game], [7000]), startMs)
    const around = { hostPorts: use.of(key) }
    const { nodeName: _, ...spec } = podWith([game], [7001]).spec ?? {}
    for (const pod of [undefined, { ...podWith([game], [7001]), spec }]) {
      const { status } = plan(started(), pod, around, startMs + 20_000)
      expect(conditionOf(status, 'Degraded')).toContain(degraded)
      expect(status.message).toContain(message)
    }
  })

  test('with only static ports waits for them: PortTaken', () => {
    const planned = planCase({ ports: [fixed], afterMs: 100_000 })
    expect(verbs(planned)).toEqual([])
    expect(conditionOf(planned.status, 'Degraded')).toBe('True/PortTaken')
  })

  test('with a static port and another is replaced, and PortTaken after five times', () => {
    expect(verbs(planCase({ ports: [fixed, game] }))).toEqual(['replacePod'])
    expect(conditionOf(planCase({ ports: [fixed, game], replaced: 5 }).status, 'Degraded')).toBe('True/PortTaken')
  })

  test('in time after a restart does not count as a failure', () => {
    const pod = podWith([game], [7003], { status: ready() })
    const running = plan(started(), pod, { node: aNode() })
    const world = applyStatus(started(), running)
    const waiting = podWith([fixed], [27_015], { uid: 'next', status: unscheduled(portsMessage) })
    const { nodeName: _, ...spec } = waiting.spec ?? {}
    const metadata = { ...waiting.metadata, creationTimestamp: at(startMs) }
    const late = plan(world, { ...waiting, metadata, spec }, {}, startMs + settings.startDeadlineMs)
    expect(late.status.run).toMatchObject({ restarts: 0, disruptions: 1 })
  })

  test('without host ports is not replaced', () => {
    const world = aWorld(running)
    const pod = { ...aPod({ status: unscheduled(portsMessage) }), spec: {} }
    const planned = planFor(applyStatus(world, planFor(world)), pod, startMs + 20_000)
    expect(verbs(planned)).toEqual([])
    expect(conditionOf(planned.status, 'Degraded')).toBe('True/Unschedulable')
  })
})
