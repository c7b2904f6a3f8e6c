import { describe, expect, test } from 'vitest'
import type { Node } from '#operator/pods/node.ts'
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

  test('of which the range has not enough ports is PortsExhausted', () => {
    const ports = Array.from({ length: 8 }, (_, at) => ({ ...game, name: `p${at}`, containerPort: 7000 + at }))
    const small = createHostPortUse(new Map([['default', [{ first: 7000, last: 7007 }]]]))
    const planned = plan(worldWith(ports), undefined, { hostPorts: small.of(key) })
    expect(verbs(planned)).toEqual([])
    expect(conditionOf(planned.status, 'Degraded')).toBe('True/PortsExhausted')
  })
})

describe('a pod that found no node', () => {
  const unscheduledAt = (message = '0/1 nodes are available: 1 Insufficient cpu.'): NonNullable<Pod['status']> => ({
    phase: 'Pending',
    conditions: [
      { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message, lastTransitionTime: at(startMs) },
    ],
  })
  const portsMessage = "0/2 nodes are available: 2 node(s) didn't have free ports for the requested pod ports."
  const waiting = (ports: WorldPort[], numbers: number[], message?: string): Pod => {
    const pod = podWith(ports, numbers, { status: unscheduledAt(message) })
    return { ...pod, spec: { containers: pod.spec?.containers ?? [] } }
  }
  const node = (name: string, changes: Partial<Node> = {}) =>
    aNode('True', { metadata: { name, labels: { pool: name } }, ...changes })
  type Case = {
    ports?: WorldPort[]
    taken?: string[]
    nodes?: Node[]
    message?: string
    replaced?: number
    afterMs?: number
    settings?: typeof settings
  }
  const planCase = ({
    ports = [game],
    taken = ['one'],
    nodes = [node('one')],
    message,
    replaced = 0,
    afterMs = 5_000,
    settings: given = settings,
  }: Case) => {
    const use = ledger()
    const numbers = ports.map(({ hostPort = 7003 }) => hostPort)
    const pod = waiting(ports, numbers, message)
    for (let count = 0; count < replaced; count += 1) use.replace(key, runA, pod)
    use.observe(key, pod)
    for (const each of taken) use.observe(each, podOn(each, ports, numbers))
    const around = { hostPorts: use.of(key), nodes: () => nodes, settings: given }
    return plan(started(ports), pod, around, startMs + afterMs)
  }
  const podOn = (name: string, ports: WorldPort[], numbers: number[]): Pod => {
    const pod = podWith(ports, numbers)
    return { ...pod, spec: { ...pod.spec, nodeName: name } }
  }

  test('because its ports are used on every node is replaced after 5 s, without a restart', () => {
    const planned = planCase({})
    expect(verbs(planned)).toEqual(['replacePod'])
    expect(planned.status.run?.restarts).toBe(0)
    const early = planCase({ afterMs: 4_000 })
    expect(verbs(early)).toEqual([])
    expect(early.requeueAfterMs).toBe(1_000)
  })

  test.each<[string, Case]>([
    [
      'of which the scheduler says that one has no free port',
      { nodes: [node('one'), node('two')], message: portsMessage },
    ],
    ['beside a cordoned one', { nodes: [node('one'), node('two', { spec: { unschedulable: true } })] }],
    ['beside one that is not Ready', { nodes: [node('one'), { ...aNode('Unknown'), metadata: { name: 'two' } }] }],
  ])('because its ports are used on the nodes, %s, is replaced', (_, given) => {
    expect(verbs(planCase(given))).toEqual(['replacePod'])
  })

  test.each<[string, Case]>([
    ['whose ports nobody uses', { taken: [] }],
    ['whose ports are free on a node', { nodes: [node('one'), node('two')] }],
    ['whose ports are used on a node where it may not run', { nodes: [node('two')], message: portsMessage }],
  ])('%s stays, and is Unschedulable', (_, given) => {
    const planned = planCase(given)
    expect(verbs(planned)).toEqual([])
    expect(conditionOf(planned.status, 'Degraded')).toBe('True/Unschedulable')
    expect(planned.requeueAfterMs).toBe(15_000)
  })

  test('stays if its ports are used only where its placement does not put it', () => {
    const placement = [{ nodeLabels: { pool: 'two' }, tolerations: [] }]
    const given = { nodes: [node('one'), node('two')], message: portsMessage, settings: { ...settings, placement } }
    expect(verbs(planCase({ ...given, settings }))).toEqual(['replacePod'])
    expect(verbs(planCase(given))).toEqual([])
  })

  test('without host ports is not looked at again', () => {
    const world = aWorld(running)
    const pod = { ...aPod({ status: unscheduledAt() }), spec: {} }
    const { requeueAfterMs } = planFor(applyStatus(world, planFor(world)), pod, startMs + 20_000)
    expect(requeueAfterMs).toBeGreaterThan(60_000)
  })

  test('is replaced five times, and then PortsExhausted', () => {
    expect(verbs(planCase({ replaced: 4 }))).toEqual(['replacePod'])
    const planned = planCase({ replaced: 5 })
    expect(verbs(planned)).toEqual([])
    expect(conditionOf(planned.status, 'Degraded')).toBe('True/PortsExhausted')
  })

  test('because its static port is used waits for it: PortTaken', () => {
    const planned = planCase({ ports: [fixed] })
    expect(verbs(planned)).toEqual([])
    expect(conditionOf(planned.status, 'Degraded')).toBe('True/PortTaken')
  })
})
