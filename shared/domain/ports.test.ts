import fc from 'fast-check'
import { expect, test } from 'vitest'
import { networkingStrategies } from '#shared/enumerations.ts'
import {
  countServicePorts,
  defaultPorts,
  maxServicePorts,
  podPorts,
  podPortsOf,
  requestedPorts,
  routeRule,
  serviceTypeOf,
  type WorldPort,
  worldPorts,
} from './ports.ts'
import { serverSettings } from './world.ts'

const port = (changes: Partial<WorldPort> = {}): WorldPort => ({
  name: 'game',
  containerPort: 7777,
  protocol: 'TCPUDP',
  expose: 'Public',
  ...changes,
})

const internal = { name: 'rcon', containerPort: 25_575, expose: 'Internal' } as const

test('a port is public, for TCP and UDP, unless it says otherwise', () => {
  expect(worldPorts.parse(undefined)).toEqual(defaultPorts)
  expect(worldPorts.parse([{ name: 'game', containerPort: 9000 }])).toEqual([port({ containerPort: 9000 })])
})

test.each([
  ['one containerPort for two protocols', [port({ protocol: 'TCP' }), port({ name: 'voice', protocol: 'UDP' })]],
  ['an internal port', [port(), port(internal)]],
  ['a range', [port({ range: 'voice', policy: 'Passthrough' })]],
  [
    'one hostPort for two protocols',
    [
      port({ policy: 'Static', hostPort: 7000, protocol: 'UDP' }),
      port({ name: 'web', policy: 'Static', hostPort: 7000, protocol: 'TCP' }),
    ],
  ],
])('%s is allowed', (_, ports) => {
  expect(worldPorts.parse(ports)).toEqual(ports)
})

test.each([
  ['no port', [], /at least 1|>=1/],
  ['nine ports', Array.from({ length: 9 }, (_, at) => port({ name: `p${at}`, containerPort: 9000 + at })), /<=8/],
  ['a name twice', [port(), port({ containerPort: 9000 })], /unique names/],
  ['a containerPort twice', [port({ protocol: 'UDP' }), port({ name: 'again' })], /same containerPort twice/],
  ['the port of the probes', [port({ containerPort: 8080 })], /8080/],
  ['only internal ports', [port({ expose: 'Internal' })], /expose Public/],
  ['the policy Static without a hostPort', [port({ policy: 'Static' })], /hostPort with the policy Static/],
  ['a hostPort with another policy', [port({ hostPort: 7000 })], /hostPort with the policy Static/],
  ['a range with the policy Static', [port({ policy: 'Static', hostPort: 7000, range: 'a' })], /range with the policy/],
  ['a range of an internal port', [port(), port({ ...internal, range: 'a' })], /expose Internal/],
  ['a policy of an internal port', [port(), port({ ...internal, policy: 'Dynamic' })], /expose Internal/],
  [
    'a hostPort twice',
    [
      port({ policy: 'Static', hostPort: 7000 }),
      port({ name: 'web', containerPort: 80, policy: 'Static', hostPort: 7000, protocol: 'TCP' }),
    ],
    /same hostPort twice/,
  ],
  ['a name in upper case', [port({ name: 'Game' })], /DNS label/],
  ['a name of 16 characters', [port({ name: 'a'.repeat(16) })], /<=15/],
])('%s is refused', (_, ports, message) => {
  expect(worldPorts.safeParse(ports).error?.message).toMatch(message)
})

test('an unknown field is refused over REST, and ignored in a resource', () => {
  const ports = [{ ...port(), nodePort: 30_000 }]
  expect(requestedPorts.safeParse(ports).error?.message).toMatch(/nodePort/)
  expect(worldPorts.parse(ports)).toEqual([port()])
})

const two = [port(), port({ name: 'web', containerPort: 9000 })]
test.each([
  ['the default port', 'Route', defaultPorts],
  ['one port with TCP', 'Route', [port({ protocol: 'TCP' })]],
  ['internal ports beside it', 'Route', [port(internal), port(), port({ ...internal, name: 'x', containerPort: 1 })]],
  ['two public ports', 'NodePort', two],
  ['one port with UDP alone', 'Default', [port({ protocol: 'UDP' })]],
] as const)('%s may have the strategy %s', (_, strategy, ports) => {
  expect(serverSettings.shape.networking.parse({ strategy, ports })).toEqual({ strategy, ports })
})

test.each([
  ['one port with UDP alone', [port({ protocol: 'UDP' })]],
  ['an internal port with TCP', [port({ protocol: 'UDP' }), port({ ...internal, protocol: 'TCP' })]],
  ['two public ports', two],
])('%s cannot have the strategy Route', (_, ports) => {
  const { error } = serverSettings.shape.networking.safeParse({ strategy: 'Route', ports })
  expect(error?.issues).toEqual([expect.objectContaining({ path: ['ports'], message: routeRule.message })])
})

test('the strategies with a Service have one of their own type, and Route one of type ClusterIP', () => {
  expect(Object.fromEntries(networkingStrategies.map((strategy) => [strategy, serviceTypeOf(strategy)]))).toEqual({
    Default: undefined,
    HostPort: undefined,
    Route: 'ClusterIP',
    ClusterIP: 'ClusterIP',
    NodePort: 'NodePort',
    LoadBalancer: 'LoadBalancer',
  })
})

const protocols = ['TCP', 'UDP', 'TCPUDP'] as const
const ports = fc
  .array(fc.record({ protocol: fc.constantFrom(...protocols), expose: fc.constantFrom('Public', 'Internal') }), {
    minLength: 1,
    maxLength: 8,
  })
  .map((list) => list.map((each, at) => port({ ...each, name: `p${at}`, containerPort: 9000 + at })))

test('network policies name every port of every pod by its exposure, and no pod has a name twice', () => {
  fc.assert(
    fc.property(ports, (list) => {
      const names = podPorts(list).map(({ name }) => name)
      expect(new Set(names).size).toBe(names.length)
      for (const { name, containerPort, protocol } of podPorts(list)) {
        const { expose } = list.find((each) => each.containerPort === containerPort) ?? port()
        const other = expose === 'Public' ? 'Internal' : 'Public'
        expect(podPortsOf(expose)).toContainEqual({ port: name, protocol })
        expect(podPortsOf(other)).not.toContainEqual({ port: name, protocol })
        // The longest name of a container port, by the API server.
        expect(name.length).toBeLessThanOrEqual(15)
      }
      expect(countServicePorts(list)).toBeLessThanOrEqual(maxServicePorts)
    }),
  )
})
