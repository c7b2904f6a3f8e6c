import * as z from 'zod'
import { portExposures, portProtocols } from '#shared/enumerations.ts'

/** The port of `/readyz` and `/healthz` of servers and bots. */
export const healthPort = 8080

/** The maximum number of ports of a world. */
export const maxPorts = 8

const fields = {
  name: z
    .string()
    .min(1)
    .max(15)
    .regex(/^[a-z]([a-z0-9-]*[a-z0-9])?$/, 'must be a DNS label in lower case that begins with a letter')
    .describe(
      'Name of the port. It is unique in the world. The server gets the number in ORRERY_PORT_<NAME>, in upper case and with _ for -.',
    ),
  containerPort: z
    .int()
    .min(1)
    .max(65_535)
    .describe(`Port that the server listens on. It must not be ${healthPort}, the port of /readyz and /healthz.`),
  protocol: z.enum(portProtocols).default('TCPUDP').describe('Protocol of the port. TCPUDP means both.'),
  expose: z
    .enum(portExposures)
    .default('Public')
    .describe('Public opens the port to players and bots, Internal to the operator alone.'),
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

/** Returns the number of entries that a Service has for these ports: one for each protocol of each public port. */
export const countServicePorts = (ports: readonly WorldPort[]): number => publicPorts(ports).flatMap(protocolsOf).length

/** The maximum of `countServicePorts`. */
export const maxServicePorts = 2 * maxPorts

const isSamePort = (one: WorldPort, other: WorldPort): boolean =>
  one.containerPort === other.containerPort &&
  protocolsOf(one).some((protocol) => protocolsOf(other).includes(protocol))

type PortRule = {
  readonly isKept: (ports: readonly WorldPort[]) => boolean
  /** The same rule in CEL; `self` is the spec of a World. */
  readonly rule: string
  readonly message: string
}

const all = (condition: string): string => `self.networking.ports.all(p, ${condition})`
const one = (condition: string): string => all(`self.networking.ports.exists_one(q, ${condition})`)

/** The rules of a list of ports, each for REST and for the API server. */
export const portRules: readonly PortRule[] = [
  {
    isKept: (ports) => new Set(ports.map(({ name }) => name)).size === ports.length,
    rule: one('q.name == p.name'),
    message: 'networking.ports must have unique names: rename one',
  },
  {
    isKept: (ports) => ports.every((port) => ports.filter((other) => isSamePort(port, other)).length === 1),
    rule: one(
      "q.containerPort == p.containerPort && (q.protocol == p.protocol || q.protocol == 'TCPUDP' || p.protocol == 'TCPUDP')",
    ),
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
]

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

/** Returns the ports of the pod of a world. */
export const podPorts = (ports: readonly WorldPort[]): { name: string; containerPort: number; protocol: Protocol }[] =>
  ports.flatMap((port, at) =>
    protocolsOf(port).map((protocol) => ({
      name: podPortName(port.expose, at, protocol),
      containerPort: port.containerPort,
      protocol,
    })),
  )

/** Returns the names of all ports that the pods of worlds can have with this exposure. */
export const podPortsOf = (expose: WorldPort['expose']): PodPort[] =>
  Array.from({ length: maxPorts }, (_, at) => at).flatMap((at) =>
    (['TCP', 'UDP'] as const).map((protocol) => ({ port: podPortName(expose, at, protocol), protocol })),
  )
