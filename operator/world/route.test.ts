import { describe, expect, test } from 'vitest'
import type { HttpRoute, NewRoute } from '#operator/pods/httpRoute.ts'
import { at, runA, startMs } from '#operator/testing/common.ts'
import {
  aGrant,
  aPod,
  applyStatus,
  aService,
  aWorld,
  conditionOf,
  planFor,
  ready,
  running,
  settings,
  tenant,
  verbs,
} from '#operator/testing/world.ts'
import type { Condition } from '#shared/kube/objects.ts'
import { servicePortsOf } from './service.ts'
import type { WorldSettings } from './settings.ts'
import type { Plan, PlanInput } from './step.ts'

const routed: WorldSettings = {
  ...settings,
  route: {
    gateway: { namespace: 'gateways', name: 'players', listener: 'wss' },
    url: { scheme: 'wss', domain: 'worlds.example.com', port: 443 },
  },
}
const networking = { strategy: 'Route' } as const
const world = aWorld({ ...running, networking })
const service = aService('ClusterIP', {
  spec: { ports: servicePortsOf({ ports: world.spec.networking.ports, strategy: 'Route' }) },
})
/** The world after the status that its first plan wrote. */
const started = applyStatus(
  world,
  planFor(world, undefined, startMs, undefined, { settings: routed, route: undefined }),
)
const plan = (of = started, around: Partial<PlanInput> = {}, nowMs = startMs) =>
  planFor(of, aPod({ status: ready() }), nowMs, undefined, { settings: routed, service, route: undefined, ...around })

const routeOf = ({ steps }: Plan): NewRoute => {
  const [step] = steps.filter(({ verb }) => verb === 'createRoute')
  if (step?.verb !== 'createRoute') throw new Error('The plan creates no route.')
  return step.route
}

type Answer = Partial<Record<'Accepted' | 'ResolvedRefs', Partial<Condition>>>
const gatewayRef = { group: 'gateway.networking.k8s.io', kind: 'Gateway', namespace: 'gateways', name: 'players' }
const parentRef = { ...gatewayRef, sectionName: 'wss' }
const accepted: Answer = { Accepted: {}, ResolvedRefs: {} }

/** The route that the plan creates, with an answer of the Gateway. */
const answered = (answer: Answer = accepted, ref: typeof gatewayRef = parentRef, changes: object = {}): HttpRoute => {
  const { spec, metadata, ...rest } = routeOf(plan())
  const conditions = Object.entries(answer).map(([type, condition]) => ({
    type,
    status: 'True' as const,
    reason: type,
    message: '',
    observedGeneration: 2,
    lastTransitionTime: at(startMs),
    ...condition,
  }))
  return {
    ...rest,
    spec,
    metadata: { ...metadata, uid: 'route-uid', generation: 2, creationTimestamp: at(startMs), ...changes },
    status: { parents: [{ parentRef: ref, conditions }] },
  }
}

describe('a world with the strategy Route', () => {
  test('gets a service for TCP, and then a route that the service owns', () => {
    const first = planFor(world, undefined, startMs, undefined, { settings: routed, route: undefined })
    expect(verbs(first)).toEqual(['createPod', 'createService'])
    expect(service.spec?.ports).toMatchObject([{ name: 'game-tcp', port: 7777 }])
    const second = plan()
    expect(routeOf(second)).toMatchObject({
      apiVersion: 'gateway.networking.k8s.io/v1',
      kind: 'HTTPRoute',
      metadata: {
        name: world.metadata.name,
        namespace: world.metadata.namespace,
        labels: { 'orrery.dev/world': world.metadata.name, 'orrery.dev/run': runA },
        ownerReferences: [{ kind: 'Service', uid: 'service-uid', controller: true }],
      },
      spec: {
        parentRefs: [parentRef],
        hostnames: [expect.stringMatching(/^wld-[0-9a-z]{26}\.worlds\.example\.com$/)],
        rules: [{ backendRefs: [{ kind: 'Service', name: world.metadata.name, port: 7777 }] }],
      },
    })
    expect(conditionOf(second.status, 'Ready')).toBe('False/RoutePending')
    expect(second.status).toMatchObject({ phase: 'Starting' })
  })

  test('has the id that the API granted in its host name, whatever the name of the resource is', () => {
    const worldId = 'wld-0000000000000000000000000x'
    const granted = aGrant({ strategy: 'Route', worldId })
    const named = aWorld({ ...running, networking, granted }, undefined, { name: 'lobby' })
    const around = { settings: routed, route: undefined, policy: tenant }
    const planned = planFor(named, undefined, startMs, undefined, {
      ...around,
      service: {
        ...service,
        metadata: { ...service.metadata, name: 'lobby' },
      },
    })
    expect(routeOf(planned).spec).toMatchObject({ hostnames: [`${worldId}.worlds.example.com`] })
  })

  test('is Active at its URL once the Gateway has accepted the route and resolved the service', () => {
    const { status, steps } = plan(started, { route: answered() })
    const host = expect.stringMatching(/^wld-[0-9a-z]{26}\.worlds\.example\.com$/)
    const url = expect.stringMatching(/^wss:\/\/wld-[0-9a-z]{26}\.worlds\.example\.com$/)
    expect(status).toMatchObject({ phase: 'Active', address: { host, port: 443 } })
    expect(status.addresses).toEqual([{ name: 'game', protocol: 'TCP', host, port: 443, url }])
    expect(steps).toEqual([])
  })

  test('has the port of the setting in its URL', () => {
    const url = { scheme: 'ws', domain: 'worlds.example.com', port: 8000 } as const
    const route = { gateway: { namespace: 'gateways', name: 'players' }, url }
    const { status } = plan(started, { settings: { ...routed, route }, route: answered(accepted, gatewayRef) })
    expect(status.addresses?.[0]?.url).toMatch(/^ws:\/\/wld-.*\.worlds\.example\.com:8000$/)
  })

  test.each([
    ['no answer', {}],
    ['only Accepted', { Accepted: {} }],
    ['only ResolvedRefs', { ResolvedRefs: {} }],
    ['a service that the Gateway does not see yet', { ...accepted, ResolvedRefs: { status: 'False' } }],
  ] as [string, Answer][])('waits with %s', (_, answer) => {
    const { status, requeueAfterMs } = plan(started, { route: answered(answer) }, startMs + 2_000)
    expect(conditionOf(status, 'Ready')).toBe('False/RoutePending')
    expect(conditionOf(status, 'Degraded')).toMatch(/^False/)
    expect(requeueAfterMs).toBeLessThanOrEqual(8_000)
  })

  test.each([
    ['another Gateway', { ...parentRef, name: 'other' }],
    ['another namespace', { ...parentRef, namespace: 'other' }],
    ['another listener', { ...parentRef, sectionName: 'other' }],
  ])('does not count the answer of %s', (_, ref) => {
    expect(plan(started, { route: answered(accepted, ref) }).status.phase).toBe('Starting')
  })

  test.each([
    ['the Gateway does not answer', {}, /has not answered for 10 seconds/],
    [
      'the listener does not admit the namespace',
      { Accepted: { status: 'False', reason: 'NotAllowedByListeners' } },
      /selector for the label orrery\.dev\/organization/,
    ],
    ['the Gateway refuses the route', { Accepted: { status: 'False', reason: 'NoMatchingParent' } }, /not accept/],
    ['the Gateway refuses the service', { Accepted: {}, ResolvedRefs: { status: 'False' } }, /cannot use the service/],
  ] as [string, Answer, RegExp][])('is RouteNotAccepted after 10 s if %s', (_, answer, message) => {
    const { status } = plan(started, { route: answered(answer) }, startMs + 10_000)
    expect(conditionOf(status, 'Degraded')).toBe('True/RouteNotAccepted')
    expect(status).toMatchObject({ phase: 'Starting', message: expect.stringMatching(message) })
  })

  test('stays Active at its last URL while its route is missing, refused or not served', () => {
    const active = applyStatus(started, plan(started, { route: answered() }))
    const refused = answered({ ...accepted, Accepted: { status: 'False' } })
    for (const route of [undefined, refused, 'unserved'] as const) {
      const { status, requeueAfterMs } = plan(active, { route }, startMs + 20_000)
      // Nothing else tells that the definition is back.
      if (route === 'unserved') expect(requeueAfterMs).toBe(30_000)
      expect(status).toMatchObject({ phase: 'Active', addresses: active.status?.addresses })
      expect(conditionOf(status, 'Degraded')).toBe('True/AddressMissing')
    }
  })

  test('waits for the garbage collector to delete the route of the previous run', () => {
    const ownerReferences = [
      { apiVersion: 'v1', kind: 'Service', name: world.metadata.name, uid: 'previous', controller: true },
    ]
    const planned = plan(started, { route: answered(accepted, parentRef, { ownerReferences }) })
    expect(planned.steps).toEqual([])
    expect(conditionOf(planned.status, 'Ready')).toBe('False/RoutePending')
  })

  test('is RouteNameTaken if a stranger has a route of its name', () => {
    const planned = plan(started, { route: answered(accepted, parentRef, { ownerReferences: [] }) })
    expect(planned.steps).toEqual([])
    expect(conditionOf(planned.status, 'Degraded')).toBe('True/RouteNameTaken')
  })

  test('fails at its start deadline for the taken name, also if the route of the stranger is not cached', () => {
    const foreign = answered(accepted, parentRef, { ownerReferences: [] })
    const refused = applyStatus(started, plan(started, { route: foreign }))
    const { status } = plan(refused, { route: undefined }, startMs + settings.startDeadlineMs)
    expect(status.run).toMatchObject({ endReason: 'StartDeadline', failure: { reason: 'RouteNameTaken' } })
  })

  test('gets no pod while its cluster has no routes', () => {
    const planned = planFor(world, undefined, startMs, undefined, { settings: routed, route: 'unserved' })
    expect(planned.steps).toEqual([])
    expect(conditionOf(planned.status, 'Degraded')).toBe('True/RouteNotAvailable')
  })
})

describe('a route that others changed', () => {
  const changed = (spec: object, marks?: Record<string, string>) => {
    const route = answered()
    return plan(started, {
      route: {
        ...route,
        spec: { ...route.spec, ...spec },
        metadata: { ...route.metadata, ...(marks && { labels: marks }) },
      },
    })
  }

  test.each([
    ['host name', { hostnames: ['other.example.com'] }],
    ['further host name', { hostnames: [...(Reflect.get(answered().spec ?? {}, 'hostnames') as string[]), 'other'] }],
    ['Gateway', { parentRefs: [{ ...parentRef, name: 'other' }] }],
    ['backend', { rules: [{ backendRefs: [{ kind: 'Service', name: 'other', port: 80 }] }] }],
  ])('gets its %s back', (_, spec) => {
    const { steps, status } = changed(spec)
    expect(steps).toMatchObject([{ verb: 'repairRoute', patch: { spec: routeOf(plan()).spec } }])
    // Its players stay, and so they do if the API server does not keep what is written.
    expect(status.phase).toBe('Active')
  })

  test('gets the label by which it is cached back', () => {
    const { steps, status } = changed({}, {})
    const patch = { metadata: { labels: { 'orrery.dev/world': world.metadata.name } } }
    expect([status.phase, steps]).toMatchObject(['Active', [{ verb: 'repairRoute', patch }]])
  })

  test('keeps the defaults and further fields that the cluster adds', () => {
    const matches = [{ path: { type: 'PathPrefix', value: '/' } }]
    const [rule] = Reflect.get(answered().spec ?? {}, 'rules') as object[]
    expect(changed({ rules: [{ ...rule, matches, filters: [] }], other: 1 }).steps).toEqual([])
  })
})
