import * as z from 'zod'
import {
  hostPortPolicies,
  type networkingStrategies,
  portExposures,
  portProtocols,
  serviceTypes,
} from '#shared/enumerations.ts'
import { withDefined } from '#shared/optional.ts'

/** The port of `/readyz` and `/healthz` of servers and bots. */
export const healthPort = 8080

/** The maximum number of ports of a world. */
export const maxPorts = 8

/** The pattern of names of ports and of ranges of host ports. */
export const portNamePattern = /^[a-z]([a-z0-9-]*[a-z0-9])?$/

/** A name of a port, or of a range of host ports. */
export const portName = () =>
  z.string().min(1).max(15).regex(portNamePattern, 'must be a DNS label in lower case that begins with a letter')
const portNumber = () => z.int().min(1).max(65_535)

const fields = {
  name: portName().describe(
    'Name of the port. It is unique in the world. The server gets the number in ORRERY_PORT_<NAME>, in upper case and with _ for -.',
  ),
  containerPort: portNumber().describe(
    `Port that the server listens on. It must not be ${healthPort}, the port of /readyz and /healthz.`,
  ),
  protocol: z.enum(portProtocols).default('TCPUDP').describe('Protocol of the port. TCPUDP means both.'),
  expose: z
    .enum(portExposures)
    .default('Public')
    .describe('Public opens the port to players and bots, Internal to the operator alone.'),
  policy: z
    .enum(hostPortPolicies)
    .exactOptional()
    .describe(
      'Choice of the host port with the strategy HostPort. Dynamic takes a port of a range. Passthrough does too, and the server must listen on that port instead of containerPort. Static takes hostPort. If absent, it is Dynamic.',
    ),
  range: portName()
    .exactOptional()
    .describe("Name of the platform's range for Dynamic and Passthrough. If absent, it is default."),
  hostPort: portNumber()
    .exactOptional()
    .describe("Host port of the policy Static: one of the platform's static ports."),
}

/** A port of a world's server. */
export type WorldPort = z.output<z.ZodObject<typeof fields>>

/** The ports of a world without `networking.ports`. */
export const defaultPorts: WorldPort[] = [{ name: 'game', containerPort: 7777, protocol: 'TCPUDP', expose: 'Public' }]

/** A protocol of a port in Kubernetes. */
export type Protocol = 'TCP' | 'UDP'

/** Returns the protocols of a port, TCP first. */
export const protocolsOf = ({ protocol }: Pick<WorldPort, 'protocol'>): readonly Protocol[] =>
  protocol === 'TCPUDP' ? ['TCP', 'UDP'] : [protocol]

/** Returns the ports that players reach. A world has at least one. */
export const publicPorts = (ports: readonly WorldPort[]): WorldPort[] =>
  ports.filter(({ expose }) => expose === 'Public')

type Strategy = (typeof networkingStrategies)[number]

/** Returns the type of the Service of a world with that strategy, or undefined if it has none. */
export const serviceTypeOf = (strategy: Strategy): (typeof serviceTypes)[number] | undefined =>
  strategy === 'Route' ? 'ClusterIP' : serviceTypes.find((type) => type === strategy)

/** Reports whether a world with that strategy has a Service. */
export const hasService = (strategy: Strategy): boolean => serviceTypeOf(strategy) !== undefined

/** Returns the number of entries that a Service has for these ports: one for each protocol of each public port. */
export const countServicePorts = (ports: readonly WorldPort[]): number => publicPorts(ports).flatMap(protocolsOf).length

/** The maximum of `countServicePorts`. */
export const maxServicePorts = 2 * maxPorts

const isSamePort = (number: 'containerPort' | 'hostPort', one: WorldPort, other: WorldPort): boolean =>
  one[number] === other[number] && protocolsOf(one).some((protocol) => protocolsOf(other).includes(protocol))

type PortRule = {
  readonly isKept: (ports: readonly WorldPort[]) => boolean
  /** The same rule in CEL; `self` is the spec of a World. */
  readonly rule: string
  readonly message: string
}

const all = (condition: string): string => `self.networking.ports.all(p, ${condition})`
const one = (condition: string): string => all(`self.networking.ports.exists_one(q, ${condition})`)
const isStatic = "(has(p.policy) && p.policy == 'Static')"
const hasProtocolOf = "(q.protocol == p.protocol || q.protocol == 'TCPUDP' || p.protocol == 'TCPUDP')"

/** The rules of a list of ports, each for REST and for the API server. */
export const portRules: readonly PortRule[] = [
  {
    isKept: (ports) => new Set(ports.map(({ name }) => name)).size === ports.length,
    rule: one('q.name == p.name'),
    message: 'networking.ports must have unique names: rename one',
  },
  {
    isKept: (ports) =>
      ports.every((port) => ports.filter((other) => isSamePort('containerPort', port, other)).length === 1),
    rule: one(`q.containerPort == p.containerPort && ${hasProtocolOf}`),
    message:
      'networking.ports must not have the same containerPort twice for one protocol: change one containerPort or protocol',
  },
  {
    isKept: (ports) => ports.every(({ containerPort }) => containerPort !== healthPort),
    rule: all(`p.containerPort != ${healthPort}`),
    message: `networking.ports must not contain ${healthPort}, which is the port of /readyz and /healthz: choose another containerPort`,
  },
  {
    isKept: (ports) => publicPorts(ports).length > 0,
    rule: "self.networking.ports.exists(p, p.expose == 'Public')",
    message: 'networking.ports must contain a port with expose Public, so that players can connect',
  },
  {
    isKept: (ports) => ports.every(({ policy, hostPort }) => (policy === 'Static') === (hostPort !== undefined)),
    rule: all(`${isStatic} == has(p.hostPort)`),
    message: 'networking.ports must have a hostPort with the policy Static, and with no other: set both, or neither',
  },
  {
    isKept: (ports) => ports.every(({ policy, range }) => policy !== 'Static' || range === undefined),
    rule: all(`!(${isStatic} && has(p.range))`),
    message: 'networking.ports must not have a range with the policy Static: remove it',
  },
  {
    isKept: (ports) =>
      ports.every(({ expose, policy, range }) => expose === 'Public' || (policy ?? range) === undefined),
    rule: all("p.expose == 'Public' || !(has(p.policy) || has(p.range))"),
    message:
      'networking.ports must not have a policy or range with expose Internal, which has no host port: remove them',
  },
  {
    isKept: (ports) =>
      ports.every(
        (port) =>
          port.hostPort === undefined || ports.filter((other) => isSamePort('hostPort', port, other)).length === 1,
      ),
    rule: all(
      `!has(p.hostPort) || self.networking.ports.exists_one(q, has(q.hostPort) && q.hostPort == p.hostPort && ${hasProtocolOf})`,
    ),
    message: 'networking.ports must not have the same hostPort twice for one protocol: change one hostPort or protocol',
  },
]

type Networking = { readonly strategy: Strategy; readonly ports: readonly WorldPort[] }

/** Reports whether a Gateway can lead to the ports: it has one host name for a world, and carries TCP. */
const isRoutable = (ports: readonly WorldPort[]): boolean => {
  const [first, ...others] = publicPorts(ports)
  return first !== undefined && others.length === 0 && protocolsOf(first).includes('TCP')
}

/** The rule of ports with the strategy Route, for REST and for the API server. */
export const routeRule = {
  isKept: ({ strategy, ports }: Networking): boolean => strategy !== 'Route' || isRoutable(ports),
  rule: "self.networking.strategy != 'Route' || (self.networking.ports.exists_one(p, p.expose == 'Public') && self.networking.ports.exists(p, p.expose == 'Public' && p.protocol != 'UDP'))",
  message:
    'networking.ports must have exactly one port with expose Public and TCP with the strategy Route: make the others Internal, or choose another strategy',
} as const

/** Adds an issue if the ports do not fit the strategy Route. */
export const checkRoute = (networking: Networking, context: z.core.$RefinementCtx): void => {
  if (routeRule.isKept(networking)) return
  context.addIssue({ code: 'custom', path: ['ports'], message: routeRule.message })
}

const listOf = (port: z.ZodType<WorldPort, z.input<z.ZodObject<typeof fields>>>) =>
  z
    .array(port)
    .min(1)
    .max(maxPorts)
    .describe('Ports of the server. The address of the world is that of the first public port.')

const withRules = (list: ReturnType<typeof listOf>) =>
  list
    .superRefine((ports, context) => {
      for (const { isKept, message } of portRules) if (!isKept(ports)) context.addIssue({ code: 'custom', message })
    })
    .default(defaultPorts)

/** The ports of a run: 1 to 8, without the rules, which its world has kept. */
export const runPorts = listOf(z.object(fields)).default(defaultPorts)

/** The ports of a world's server, with the rules and the default: 7777 for players, TCP and UDP. */
export const worldPorts = withRules(listOf(z.object(fields)))

/** `worldPorts` in a request over REST, which refuses unknown fields. */
export const requestedPorts = withRules(listOf(z.strictObject(fields)))

/** The name of a port in a pod. Network policies name it, because they apply to all worlds of a namespace. */
type PodPort = { readonly port: string; readonly protocol: Protocol }

/** Returns the name of the port at that position of the list in the pod, for a protocol. */
const podPortName = (expose: WorldPort['expose'], at: number, protocol: Protocol): string =>
  `${expose}-${at + 1}-${protocol}`.toLowerCase()

/** A port of the pod of a world. */
type ContainerPort = {
  readonly name: string
  readonly containerPort: number
  readonly protocol: Protocol
  readonly hostPort?: number
}

/** Returns the ports of the pod of a world. `hostPorts` has the host port of each public port, if it has any. */
export const podPorts = (ports: readonly WorldPort[], hostPorts: readonly number[] = []): ContainerPort[] => {
  const open = publicPorts(ports)
  return ports.flatMap((port, at) =>
    protocolsOf(port).map((protocol) => ({
      name: podPortName(port.expose, at, protocol),
      containerPort: port.containerPort,
      protocol,
      ...withDefined({ hostPort: hostPorts[open.indexOf(port)] }),
    })),
  )
}

/** Returns the host port of a port of a world, from the ports of its pod. */
export const findHostPort = (
  ports: readonly WorldPort[],
  port: WorldPort,
  present: readonly { readonly name?: string; readonly hostPort?: number }[],
): number | undefined => {
  const names = protocolsOf(port).map((protocol) => podPortName(port.expose, ports.indexOf(port), protocol))
  return present.find(({ name = '' }) => names.includes(name))?.hostPort
}

/** Returns the names of all ports that the pods of worlds can have with this exposure. */
export const podPortsOf = (expose: WorldPort['expose']): PodPort[] =>
  Array.from({ length: maxPorts }, (_, at) => at).flatMap((at) =>
    (['TCP', 'UDP'] as const).map((protocol) => ({ port: podPortName(expose, at, protocol), protocol })),
  )
