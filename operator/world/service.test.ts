import { describe, expect, test } from 'vitest'
import { refusedStatus } from '#operator/lifecycle/conditions.ts'
import { explainRefusal } from '#operator/lifecycle/refusal.ts'
import { at, runA, runB, startMs } from '#operator/testing/common.ts'
import {
  active,
  aNode,
  aPod,
  applyStatus,
  aService,
  aWorld,
  captured,
  conditionOf,
  notReady,
  planFor,
  ready,
  running,
  settings,
  stopped,
  verbs,
} from '#operator/testing/world.ts'
import { defaultPorts, type WorldPort } from '#shared/domain/ports.ts'
import { KubeError } from '#shared/kube/errors.ts'
import { withDefined } from '#shared/optional.ts'
import { buildPlaceholders } from './placeholder.ts'
import { parsePlacement } from './placement.ts'
import { createPortPools, type PortRequest } from './portPools.ts'
import { buildService, servicePortsOf } from './service.ts'

const servicePorts = (nodePort?: number) =>
  servicePortsOf({ ports: defaultPorts }).map((port) => ({ ...port, ...withDefined({ nodePort }) }))
const asking = (strategy: 'Default' | 'ClusterIP' | 'NodePort' | 'LoadBalancer') => ({
  ...running,
  networking: { strategy },
})
const server = aPod({ status: ready() })
const world = { status: { loadBalancer: { ingress: [{ ip: '198.51.100.7' }] } } }

describe('the address of a world', () => {
  test.each([
    ['Default', undefined, '10.0.0.7', 7777],
    ['ClusterIP', aService('ClusterIP'), '10.96.0.5', 7777],
    ['NodePort', aService('NodePort', { spec: { ports: servicePorts(30_123) } }), '203.0.113.1', 30_123],
    ['LoadBalancer', aService('LoadBalancer', world), '198.51.100.7', 7777],
    [
      'LoadBalancer',
      aService('LoadBalancer', { status: { loadBalancer: { ingress: [{ hostname: 'lb.example' }] } } }),
      'lb.example',
      7777,
    ],
  ] as const)('of the strategy %s is that of its pod, service or node', (strategy, service, host, port) => {
    const planned = planFor(captured(asking(strategy)), server, startMs, runB, { service, node: aNode() })
    expect(planned.steps).toEqual([])
    expect(planned.status).toMatchObject({ phase: 'Active', address: { host, port } })
  })

  const ports: WorldPort[] = [
    { name: 'rcon', containerPort: 25_575, protocol: 'TCP', expose: 'Internal' },
    { name: 'game', containerPort: 9000, protocol: 'UDP', expose: 'Public' },
    { name: 'voice', containerPort: 9000, protocol: 'TCP', expose: 'Public' },
    { name: 'web', containerPort: 9001, protocol: 'TCPUDP', expose: 'Public' },
  ]
  const nodePorts = servicePortsOf({ ports }).map((port, at) => ({
    ...port,
    nodePort: [30_001, 30_002, 30_003, 30_003][at] ?? 0,
  }))

  test.each([
    ['Default', '10.0.0.7', [9000, 9000, 9001]],
    ['ClusterIP', '10.96.0.5', [9000, 9000, 9001]],
    ['NodePort', '203.0.113.1', [30_001, 30_002, 30_003]],
    ['LoadBalancer', '198.51.100.7', [9000, 9000, 9001]],
  ] as const)(
    'of the strategy %s has each public port, in order, and the first one stands alone too',
    (strategy, host, numbers) => {
      const of = captured({ ...running, networking: { strategy, ports } })
      const service = strategy === 'Default' ? undefined : aService(strategy, { ...world, spec: { ports: nodePorts } })
      const { status } = planFor(of, server, startMs, runB, { service, node: aNode() })
      const [game, voice, web] = numbers
      expect(status).toMatchObject({ phase: 'Active', address: { host, port: game } })
      expect(status.addresses).toEqual([
        { name: 'game', protocol: 'UDP', host, port: game },
        { name: 'voice', protocol: 'TCP', host, port: voice },
        { name: 'web', protocol: 'TCPUDP', host, port: web },
      ])
    },
  )

  test('of a Service that lacks one node port is waited for', () => {
    const of = captured({ ...running, networking: { strategy: 'NodePort', ports } })
    const service = aService('NodePort', { spec: { ports: nodePorts.slice(1) } })
    const { status } = planFor(of, server, startMs, runB, { service, node: aNode() })
    expect(status).toMatchObject({ phase: 'Starting', message: 'Waiting for the node ports of the service.' })
    expect(status.addresses).toBeUndefined()
  })

  test('of a node without an external address is the internal one', () => {
    const service = aService('NodePort', { spec: { ports: servicePorts(30_123) } })
    const node = aNode('True', { status: { addresses: [{ type: 'InternalIP', address: '192.168.0.1' }] } })
    const planned = planFor(captured(asking('NodePort')), server, startMs, runB, { service, node })
    expect(planned.status.address).toEqual({ host: '192.168.0.1', port: 30_123 })
  })

  describe('of a node', () => {
    const service = aService('NodePort', { spec: { ports: servicePorts(30_123) } })
    const reported = [
      { type: 'ExternalIP', address: '' },
      { type: 'Hostname', address: 'node-1' },
      { type: 'InternalIP', address: '192.168.0.1' },
      { type: 'InternalIP', address: 'fd00::1' },
      { type: 'ExternalDNS', address: 'node-1.example.com' },
    ]
    const of = (nodeAddressTypes: readonly string[], annotations = {}, addresses = reported) =>
      planFor(captured(asking('NodePort')), server, startMs, runB, {
        service,
        node: aNode('True', { metadata: { name: 'node-1', annotations }, status: { addresses } }),
        settings: { ...settings, nodeAddressTypes },
      }).status

    test.each([
      [['ExternalIP', 'InternalIP'], '192.168.0.1'],
      [['ExternalIP', 'InternalIPv6', 'InternalIP'], 'fd00::1'],
      [['ExternalIPv6', 'InternalIPv4'], '192.168.0.1'],
      [['ExternalDNS', 'InternalIP'], 'node-1.example.com'],
      [['InternalDNS', 'Hostname'], 'node-1'],
    ])('is the first of %j that the node reports', (types, host) => {
      expect(of(types).address).toEqual({ host, port: 30_123 })
    })

    test.each(['198.51.100.9', '2001:db8::9', 'games.example.com'])('is that of its annotation: %s', (host) => {
      const annotations = { 'orrery.dev/address': host }
      expect(of(['InternalIP'], annotations).address).toEqual({ host, port: 30_123 })
      expect(of(['InternalIP'], annotations, []).address).toEqual({ host, port: 30_123 })
    })

    test.each(['', 'http://a', 'a b', '10.0.0.1:7777', `${'a.'.repeat(127)}`])(
      'is missing with the annotation "%s", and the message says why',
      (host) => {
        const status = of(['InternalIP'], { 'orrery.dev/address': host })
        expect(status.address).toBeUndefined()
        expect(status.message).toContain('orrery.dev/address is neither an IP address nor a DNS name')
      },
    )
  })

  describe('that a running server no longer has', () => {
    const nodePort = aService('NodePort', { spec: { ports: servicePorts(30_123) } })
    const strategies = [
      ['NodePort', nodePort, nodePort],
      ['LoadBalancer', aService('LoadBalancer', world), aService('LoadBalancer')],
    ] as const
    const without = aNode('True', { status: { addresses: [] } })

    test.each(strategies)('stays, Ready, with the condition Degraded: %s', (strategy, before, after) => {
      const first = planFor(captured(asking(strategy)), server, startMs, runB, { service: before, node: aNode() })
      const running = applyStatus(captured(asking(strategy)), first)
      const later = planFor(running, server, startMs, runB, { service: after, node: without })
      expect(later.steps).toEqual([])
      const message = expect.stringContaining('Its last address is shown.')
      expect(later.status).toMatchObject({ phase: 'Active', address: first.status.address, message })
      expect(conditionOf(later.status, 'Ready')).toBe('True/ServerReady')
      expect(conditionOf(later.status, 'Degraded')).toBe('True/AddressMissing')
      const again = planFor(applyStatus(running, later), server, startMs, runB, { service: before, node: aNode() })
      expect(conditionOf(again.status, 'Degraded')).toBe('False/AsExpected')
    })

    test.each(strategies)('stays after its node did not report: %s', (strategy, before, after) => {
      const first = planFor(captured(asking(strategy)), server, startMs, runB, { service: before, node: aNode() })
      const running = applyStatus(captured(asking(strategy)), first)
      const silent = aNode('Unknown', { status: { ...aNode('Unknown').status, addresses: [] } })
      const lost = planFor(running, server, startMs, runB, { service: after, node: silent })
      expect(lost.status).toMatchObject({ phase: 'Active', address: first.status.address })
      expect(conditionOf(lost.status, 'Ready')).toBe('Unknown/NodeUnreachable')
      const back = planFor(applyStatus(running, lost), server, startMs, runB, { service: after, node: without })
      expect(back.status.address).toEqual(first.status.address)
      expect(conditionOf(back.status, 'Ready')).toBe('True/ServerReady')
    })

    test('is not shown for a server that was never Ready while its node does not report', () => {
      const silent = aNode('Unknown', { status: { ...aNode('Unknown').status, addresses: [] } })
      const starting = aPod({ status: notReady(startMs + 1_000) })
      const { status } = planFor(captured(asking('ClusterIP')), starting, startMs, runB, {
        service: aService('ClusterIP'),
        node: silent,
      })
      expect(conditionOf(status, 'Ready')).toBe('Unknown/NodeUnreachable')
      expect(status).not.toHaveProperty('address')
      expect(status).not.toHaveProperty('addresses')
    })

    test.each(strategies)('does not stay for the next server of the run: %s', (strategy, before, after) => {
      const first = planFor(captured(asking(strategy)), server, startMs, runB, { service: before, node: aNode() })
      const running = applyStatus(captured(asking(strategy)), first)
      const replaced = aPod({ metadata: { uid: 'another-uid' }, status: ready() })
      const later = planFor(running, replaced, startMs, runB, { service: after, node: without })
      expect(later.status.address).toBeUndefined()
    })
  })

  test('of a load balancer is waited for by a ready server', () => {
    const service = aService('LoadBalancer')
    const planned = planFor(captured(asking('LoadBalancer')), server, startMs, runB, { service })
    expect(planned.status).toMatchObject({
      phase: 'Starting',
      message: 'Waiting for the load balancer to get an address.',
      deployment: { status: 'Starting' },
    })
    expect(planned.status.address).toBeUndefined()
    expect(conditionOf(planned.status, 'Ready')).toBe('False/LoadBalancerPending')
    const late = planFor(captured(asking('LoadBalancer')), server, startMs + settings.startDeadlineMs, runB, {
      service,
    })
    expect(late.status.message).toContain('not ready in time: waiting for the load balancer')
  })

  test('of the strategy Default follows the configuration at the start of the run', () => {
    const first = planFor(aWorld(running), undefined, startMs, runB, {
      settings: { ...settings, defaultStrategy: 'NodePort' },
    })
    expect(first.status.run?.strategy).toBe('NodePort')
    expect(captured().status?.run?.strategy).toBe('Default')
  })
})

describe('the service of a world', () => {
  test('is created beside its pod, and again after its deletion', () => {
    expect(verbs(planFor(captured(asking('ClusterIP'))))).toEqual(['createPod', 'createService'])
    expect(verbs(planFor(captured(asking('ClusterIP')), server))).toEqual(['createService'])
  })

  test('routes the game port over TCP and UDP to the pod of its run alone', () => {
    const of = captured(asking('LoadBalancer'))
    const run = of.status?.run
    if (run === undefined) throw new Error('no run')
    expect(buildService(of, run, settings)).toMatchObject({
      metadata: { name: of.metadata.name, ownerReferences: [{ uid: of.metadata.uid, controller: true }] },
      spec: {
        type: 'LoadBalancer',
        externalTrafficPolicy: 'Local',
        selector: {
          'app.kubernetes.io/component': 'world',
          'orrery.dev/world': of.metadata.name,
          'orrery.dev/run': runA,
        },
        ports: [
          { port: 7777, protocol: 'TCP' },
          { port: 7777, protocol: 'UDP' },
        ],
      },
    })
  })

  test('has its public ports alone, each under its name and protocol', () => {
    const ports: WorldPort[] = [
      { name: 'rcon', containerPort: 25_575, protocol: 'TCP', expose: 'Internal' },
      { name: 'game', containerPort: 9000, protocol: 'TCPUDP', expose: 'Public' },
      { name: 'voice', containerPort: 9001, protocol: 'UDP', expose: 'Public' },
    ]
    const of = captured({ ...running, networking: { strategy: 'ClusterIP', ports } })
    const run = of.status?.run
    if (run === undefined) throw new Error('no run')
    expect((buildService(of, run, settings).spec as { ports: object[] }).ports).toEqual([
      { name: 'game-tcp', port: 9000, targetPort: 9000, protocol: 'TCP' },
      { name: 'game-udp', port: 9000, targetPort: 9000, protocol: 'UDP' },
      { name: 'voice-udp', port: 9001, targetPort: 9001, protocol: 'UDP' },
    ])
  })

  describe('follows its placement', () => {
    const annotations = { 'networking.gke.io/load-balancer-type': 'Internal' }
    const service = { annotations, loadBalancerClass: 'tailscale.com/lb', allocateNodePorts: false }
    const placement = parsePlacement(
      JSON.stringify([{ region: 'Europe', service: { ...service, externalTrafficPolicy: 'Cluster' } }]),
    ).value
    const build = (strategy: 'ClusterIP' | 'NodePort' | 'LoadBalancer', region?: 'NorthAmerica') => {
      const of = captured({ ...asking(strategy), ...(region && { compute: { region } }) })
      const { run } = of.status ?? {}
      if (run === undefined || placement === undefined) throw new Error('no run')
      const { metadata, spec } = buildService(of, run, { placement })
      return { annotations: metadata.annotations, spec }
    }
    const classed = { loadBalancerClass: 'tailscale.com/lb', allocateLoadBalancerNodePorts: false }

    test('with annotations, class, node ports and traffic policy of a load balancer', () => {
      expect(build('LoadBalancer')).toMatchObject({
        annotations,
        spec: { ...classed, externalTrafficPolicy: 'Cluster' },
      })
    })

    test('with annotations and traffic policy of node ports', () => {
      const { spec, ...placed } = build('NodePort')
      expect(placed).toEqual({ annotations })
      expect(spec).toMatchObject({ externalTrafficPolicy: 'Cluster' })
      for (const field of Object.keys(classed)) expect(spec).not.toHaveProperty(field)
    })

    test.each([
      ['inside the cluster', 'ClusterIP', undefined, undefined],
      ['in another place', 'LoadBalancer', 'NorthAmerica', 'Local'],
    ] as const)('not %s', (_, strategy, region, policy) => {
      const { spec, ...placed } = build(strategy, region)
      expect(placed).toEqual({ annotations: {} })
      expect((spec as { externalTrafficPolicy?: string }).externalTrafficPolicy).toBe(policy)
      for (const field of Object.keys(classed)) expect(spec).not.toHaveProperty(field)
    })

    test.each([
      [{ annotations: { 'a b': 'x' } }, '/0/service/annotations'],
      [{ loadBalancerClass: 'a/b/c' }, '/0/service/loadBalancerClass'],
      [{ externalTrafficPolicy: 'None' }, '/0/service/externalTrafficPolicy'],
      [{ class: 'a' }, '/0/service'],
    ])('unless its settings are not valid: %j', (invalid, path) => {
      const { errors } = parsePlacement(JSON.stringify([{ service: invalid }])) as { errors: string[] }
      expect(errors?.[0]).toContain(path)
    })
  })

  describe('that shares its address', () => {
    const annotations = { 'metallb.io/allow-shared-ip': 'europe' }
    const shared = { annotations, externalTrafficPolicy: 'Cluster', sharing: { pool: 'europe', ports: '7000-7999' } }
    const ports: WorldPort[] = [
      { name: 'game', containerPort: 9000, protocol: 'TCPUDP', expose: 'Public' },
      { name: 'rcon', containerPort: 25_575, protocol: 'TCP', expose: 'Internal' },
      { name: 'voice', containerPort: 9001, protocol: 'UDP', expose: 'Public' },
    ]
    const of = captured({ ...running, networking: { strategy: 'LoadBalancer', ports } })
    const placed = { ...settings, placement: parsePlacement(JSON.stringify([{ service: shared }])).value ?? [] }
    const host = '198.51.100.7'
    const address = { status: { loadBalancer: { ingress: [{ ip: host }] } } }
    const serviceOf = (numbers: readonly number[], changes: Parameters<typeof aService>[1] = {}) => {
      const { run } = of.status ?? {}
      if (run === undefined) throw new Error('no run')
      const { metadata, spec } = buildService(of, run, placed, {}, numbers)
      return aService('LoadBalancer', {
        ...changes,
        metadata: { annotations: metadata.annotations, creationTimestamp: at(startMs), ...changes.metadata },
        spec: { ...(spec as object), ...changes.spec },
      })
    }
    /** Plans beside another world that has these ports at the shared address. */
    const planBeside = (
      others: readonly number[],
      service: ReturnType<typeof serviceOf> | undefined,
      world = of,
      nowMs = startMs,
    ) => {
      const pools = createPortPools()
      const ports = others.map((port) => ({ port, protocol: 'UDP' }))
      pools.observe('default/other', serviceOf([], { ...address, spec: { ports } }))
      pools.observe('default/world', service)
      const allotPorts = (request: PortRequest) => pools.allot('default/world', request)
      return planFor(world, server, nowMs, runB, { service, settings: placed, allotPorts })
    }
    const told = applyStatus(of, planBeside([], serviceOf([7001, 7003], address)))
    const all = Array.from({ length: 1000 }, (_, number) => 7000 + number)

    test('gets free ports of the pool, one for each public port', () => {
      const planned = planBeside([7000, 7002], undefined)
      expect(planned.steps).toEqual([{ verb: 'createService', run: of.status?.run, numbers: [7001, 7003] }])
      const { metadata, spec } = serviceOf([7001, 7003])
      expect(metadata.annotations).toEqual({ ...annotations, 'orrery.dev/port-pool': 'europe' })
      expect(spec).toMatchObject({ externalTrafficPolicy: 'Cluster' })
      expect(spec?.ports).toEqual([
        { name: 'game-tcp', port: 7001, targetPort: 9000, protocol: 'TCP' },
        { name: 'game-udp', port: 7001, targetPort: 9000, protocol: 'UDP' },
        { name: 'voice-udp', port: 7003, targetPort: 9001, protocol: 'UDP' },
      ])
    })

    test('has its ports in the addresses', () => {
      expect(told.status).toMatchObject({ phase: 'Active', address: { host, port: 7001 } })
      expect(told.status?.addresses).toEqual([
        { name: 'game', protocol: 'TCPUDP', host, port: 7001 },
        { name: 'voice', protocol: 'UDP', host, port: 7003 },
      ])
    })

    test.each([
      ['its address is missing and another world has its ports', serviceOf([7001, 7003])],
      ['its annotations are gone', serviceOf([7001, 7003], { ...address, metadata: { annotations: {} } })],
    ])('keeps the ports that its players know when %s', (_, service) => {
      const { steps, status } = planBeside([7001, 7003], service, told, startMs + 60_000)
      expect([steps, status.phase, status.addresses]).toEqual([[], 'Active', told.status?.addresses])
    })

    test('keeps them when the pool leaves the configuration', () => {
      const { steps, status } = planFor(told, server, startMs, runB, { service: serviceOf([7001, 7003], address) })
      expect([steps, status.addresses]).toEqual([[], told.status?.addresses])
    })

    test('gets them back if others change or delete it', () => {
      const ports = [{ port: 7500, targetPort: 9000, protocol: 'TCP', name: 'game-tcp' }]
      const edited = planBeside([], serviceOf([7001, 7003], { ...address, spec: { ports } }), told)
      const wanted = serviceOf([7001, 7003]).spec?.ports
      expect(edited.steps).toMatchObject([{ verb: 'repairService', patch: { spec: { ports: wanted } } }])
      expect(edited.status.addresses).toEqual(told.status?.addresses)
      const [created] = planBeside([], undefined, told).steps
      expect(created).toMatchObject({ verb: 'createService', numbers: [7001, 7003] })
    })

    test('stays at its ports after a restart of its server', () => {
      const { addresses: _, address: __, ...status } = told.status ?? { phase: 'Active' }
      const planned = planBeside([7001, 7003], serviceOf([7001, 7003]), { ...told, status })
      expect(planned.steps).toEqual([])
    })

    test('moves to free ports while it has no address and another world has its port', () => {
      const planned = planBeside([7001], serviceOf([7001, 7003]))
      const moved = serviceOf([7000, 7002]).spec?.ports
      expect(planned.steps).toMatchObject([{ verb: 'repairService', patch: { spec: { ports: moved } } }])
    })

    test('says after 5 s that no port is free, and takes those that become free', () => {
      const planAt = (taken: readonly number[], nowMs: number) => planBeside(taken, serviceOf([7001, 7003]), of, nowMs)
      expect(conditionOf(planAt(all, startMs + 4_999).status, 'Ready')).toBe('False/LoadBalancerPending')
      const exhausted = planAt(all, startMs + 5_000)
      expect(exhausted.steps).toEqual([])
      expect(conditionOf(exhausted.status, 'Ready')).toBe('False/PortsExhausted')
      expect(conditionOf(exhausted.status, 'Degraded')).toBe('True/PortsExhausted')
      expect(exhausted.requeueAfterMs).toBe(5_000)
      const free = all.filter((number) => ![7009, 7500].includes(number))
      const [step] = planAt(free, startMs + 5_000).steps
      expect(step).toMatchObject({ patch: { spec: { ports: [{ port: 7009 }, { port: 7009 }, { port: 7500 }] } } })
    })

    test('names a refused service as the cause of a late start', () => {
      const why = explainRefusal(
        new KubeError({
          status: 500,
          reason: 'InternalError',
          message: 'failed to allocate a nodePort: range is full',
        }),
        'service',
      )
      const status = refusedStatus(of.status, planBeside([], undefined).status, why, startMs)
      const late = planBeside([], undefined, { ...of, status }, startMs + settings.startDeadlineMs)
      expect(conditionOf(late.status, 'Degraded')).toBe('True/NodePortsExhausted')
      expect(late.status.message).toContain('no free node port')
    })

    test.each([
      [{ ...shared, externalTrafficPolicy: 'Local' }, 'externalTrafficPolicy Cluster'],
      [{ ...shared, externalTrafficPolicy: undefined }, 'externalTrafficPolicy Cluster'],
      [{ ...shared, sharing: { pool: 'europe', ports: '7000-7006' } }, 'range of at least 8 ports'],
      [{ ...shared, sharing: { pool: 'Europe', ports: '7000-7999' } }, '/0/service/sharing/pool'],
    ])('is not allowed with the settings %j', (invalid, why) => {
      const { errors } = parsePlacement(JSON.stringify([{ service: invalid }])) as { errors: string[] }
      expect(errors?.join()).toContain(why)
    })
  })

  test.each([
    ['is stopped', { ...active(), spec: { ...active().spec, ...stopped } }],
    ['is deleted', { ...active(), metadata: { ...active().metadata, deletionTimestamp: at(startMs) } }],
    ['has another strategy in its new run', active()],
  ])('is deleted when the world %s', (_, of) => {
    expect(verbs(planFor(of, undefined, startMs, runB, { service: aService('ClusterIP') }))).toContain('deleteService')
  })

  test.each([
    ['stopped', { ...active(), spec: { ...active().spec, ...stopped } }],
    ['deleted', { ...active(), metadata: { ...active().metadata, deletionTimestamp: at(startMs) } }],
  ])('of a world that is %s stays until its server has been gone for 5 s, and so does the deployment', (_, of) => {
    const service = aService('ClusterIP')
    const stopping = planFor(of, aPod({ status: ready() }), startMs, runB, { service })
    expect(verbs(stopping)).toEqual(['deletePod'])
    const goneFor = (serviceUnusedMs: number) =>
      planFor(applyStatus(of, stopping), undefined, startMs, runB, { service, serviceUnusedMs })
    const steps = [{ verb: 'addPlaceholders', service }]
    expect(goneFor(0)).toMatchObject({ steps, requeueAfterMs: 5_000, status: stopping.status })
    expect(goneFor(4_999)).toMatchObject({ steps, requeueAfterMs: 1 })
    expect(goneFor(5_000)).toMatchObject({ steps: [{ verb: 'deleteService' }], status: stopping.status })
    expect(planFor(applyStatus(of, stopping)).status.deployment?.status).toBe('Stopped')
  })

  test('of a transient world whose time is over is removed before the world', () => {
    const of = captured({ ...asking('ClusterIP'), transient: true, durationMinutes: 1 })
    const ended = applyStatus(of, planFor(of, undefined, startMs + 60_000))
    const service = aService('ClusterIP')
    const waiting = planFor(ended, undefined, startMs + 60_000, runB, { service, serviceUnusedMs: 0 })
    expect(waiting).toMatchObject({ steps: [{ verb: 'addPlaceholders' }], requeueAfterMs: 5_000 })
    expect(verbs(planFor(ended, undefined, startMs + 60_000))).toEqual(['deleteWorld'])
  })

  test('of the previous run stays for 5 s after its server beside the server of the next run', () => {
    const of = captured(asking('NodePort'))
    const old = aService('NodePort', { run: runB })
    const planned = planFor(of, server, startMs, runB, { service: old, serviceUnusedMs: 3_000 })
    expect(planned).toMatchObject({ steps: [{ verb: 'addPlaceholders', service: old }], requeueAfterMs: 2_000 })
  })

  test('of another type than its run has is replaced at once, because its server is left', () => {
    const changed = aService('LoadBalancer')
    const planned = planFor(active(asking('NodePort')), server, startMs, runB, { service: changed, serviceUnusedMs: 0 })
    expect(verbs(planned)).toEqual(['deleteService'])
  })

  test('of the previous run is deleted first, and the finalizer that holds it is reported', () => {
    const of = captured(asking('NodePort'))
    const old = aService('NodePort', { run: runB })
    expect(verbs(planFor(of, server, startMs, runB, { service: old }))).toEqual(['deleteService'])
    const metadata = { deletionTimestamp: at(startMs), finalizers: ['service.kubernetes.io/load-balancer-cleanup'] }
    const going = planFor(of, server, startMs, runB, { service: aService('NodePort', { run: runB, metadata }) })
    expect(going.steps).toEqual([])
    expect(going.status.message).toContain('Finalizer service.kubernetes.io/load-balancer-cleanup holds it.')
  })

  test('with another selector is repaired in place, while the world stays Active at its address', () => {
    const selector = { 'orrery.dev/world': captured().metadata.name, 'orrery.dev/run': runA }
    const service = aService('ClusterIP', { spec: { selector } })
    const planned = planFor(active(asking('ClusterIP')), server, startMs, runB, { service })
    expect(planned.steps).toEqual([
      { verb: 'repairService', service, patch: { spec: { selector: { 'app.kubernetes.io/component': 'world' } } } },
    ])
    expect(planned.status).toMatchObject({ phase: 'Active', address: { host: '10.96.0.5' } })
    expect(conditionOf(planned.status, 'Ready')).toBe('True/ServerReady')
  })

  test.each([
    ['renumbered', servicePorts(30_123).map((port) => ({ ...port, port: 443 }))],
    ['removed', servicePorts(30_123).slice(1)],
    ['added', [...servicePorts(30_123), { name: 'rcon', port: 25_575, targetPort: 25_575, protocol: 'TCP' }]],
  ])(
    'with a port that others have %s is repaired in place, while the world stays Active at its address',
    (_, ports) => {
      const of = captured(asking('NodePort'))
      const whole = aService('NodePort', { spec: { ports: servicePorts(30_123) } })
      const before = planFor(of, server, startMs, runB, { service: whole, node: aNode() })
      expect(before.steps).toEqual([])
      const service = aService('NodePort', { spec: { ports } })
      const planned = planFor(applyStatus(of, before), server, startMs, runB, { service, node: aNode() })
      expect(planned.steps).toEqual([{ verb: 'repairService', service, patch: { spec: { ports: servicePorts() } } }])
      expect(planned.status).toMatchObject({ phase: 'Active', addresses: before.status.addresses })
      expect(conditionOf(planned.status, 'Ready')).toBe('True/ServerReady')
    },
  )

  test('keeps its strategy until the next run', () => {
    const edited = {
      ...active(),
      spec: { ...active().spec, networking: { ...active().spec.networking, strategy: 'NodePort' as const } },
    }
    expect(planFor(edited, server)).toMatchObject({ steps: [], status: { address: { host: '10.0.0.7' } } })
  })

  test('of another owner is never changed, and the status reports the taken name', () => {
    const foreign = aService('ClusterIP', { metadata: { ownerReferences: [] } })
    const planned = planFor(captured(asking('ClusterIP')), server, startMs, runB, { service: foreign })
    expect(planned.steps).toEqual([])
    expect(conditionOf(planned.status, 'Degraded')).toBe('True/ServiceNameTaken')
    const stop = { ...active(), spec: { ...active().spec, ...stopped } }
    expect(verbs(planFor(stop, undefined, startMs, runB, { service: foreign }))).toEqual([])
  })
})

test('the placeholders of a service belong to it, serve, and get no traffic', () => {
  const service = aService('ClusterIP')
  const { name, uid } = service.metadata
  const placeholders = buildPlaceholders(service)
  expect(buildPlaceholders(aService('ClusterIP', { spec: { ports: [{ port: 7777, protocol: 'TCP' }] } }))).toEqual([])
  const owner = { kind: 'Service', uid }
  const marks = { 'kubernetes.io/service-name': name }
  const conditions = { ready: false, serving: true, terminating: false }
  const ports = [{ name: 'game-udp', protocol: 'UDP', port: 7777 }]
  expect(placeholders.map(({ metadata }) => metadata)).toMatchObject([
    { name: `${name}-${uid}-ipv4`, labels: marks, ownerReferences: [owner] },
    { name: `${name}-${uid}-ipv6`, labels: marks, ownerReferences: [owner] },
  ])
  expect(placeholders).toMatchObject([
    { addressType: 'IPv4', ports, endpoints: [{ conditions }] },
    { addressType: 'IPv6', ports, endpoints: [{ conditions }] },
  ])
})
