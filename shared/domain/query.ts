import * as z from 'zod'
import { queryProtocols } from '#shared/enumerations.ts'
import { boundedText } from './common.ts'
import { healthPort, type Protocol, protocolsOf, publicPorts, type WorldPort } from './ports.ts'

const fields = {
  protocol: z
    .enum(queryProtocols)
    .default('Http')
    .describe(
      'Http is GET /readyz, A2S the protocol of Valve, MinecraftJava the server list ping, MinecraftBedrock the unconnected ping of RakNet, SQP the server query protocol of Unity.',
    ),
  port: z
    .int()
    .min(1)
    .max(65_535)
    .exactOptional()
    .describe(
      `Port that answers: ${healthPort} over TCP, or the containerPort of a port in networking.ports. If absent, it is ${healthPort} with Http, and otherwise the first public port with the transport of the protocol.`,
    ),
  timeoutSeconds: z.int().min(1).max(5).default(2).describe('Seconds until a request without an answer has failed.'),
}

const querySchema = z.object(fields)

/** The question of the operator to a server for its players. */
export type ServerQuery = z.output<typeof querySchema>

type QueryInput = z.input<typeof querySchema>

const described = (schema: z.ZodType<ServerQuery, QueryInput>) =>
  schema.describe(
    'Protocol by which the operator asks the server for its players. If absent, it is GET /readyz, and none if probes is false. With a protocol other than Http, the server has no probes, and is Ready once it has answered.',
  )

/** The query of a world's server. */
export const serverQuery = described(querySchema)

/** `serverQuery` in a request over REST, which refuses unknown fields. */
export const requestedQuery = described(z.strictObject(fields))

/** The fields that a server reports beside its players, with a query protocol that has them. */
export const reportedFields = {
  capacity: z.int().min(0).exactOptional().describe('Maximum number of players that the server reports.'),
  version: boundedText(64).exactOptional().describe('Version that the server reports.'),
  map: boundedText(64).exactOptional().describe('Map that the server reports.'),
}

/** `reportedFields` as values. */
export type Reported = z.output<z.ZodObject<typeof reportedFields>>

/** Returns the transport of a query protocol. */
export const transportOf = ({ protocol }: Pick<ServerQuery, 'protocol'>): Protocol =>
  protocol === 'Http' || protocol === 'MinecraftJava' ? 'TCP' : 'UDP'

type Settings = { readonly probes: boolean; readonly query?: ServerQuery | undefined }

/** Reports whether the kubelet probes the server. A server that speaks another protocol than HTTP has no endpoints for that. */
export const hasProbes = ({ probes, query }: Settings): boolean =>
  probes && (query === undefined || query.protocol === 'Http')

/** Reports whether the server is Ready only once it has answered the operator. */
export const awaitsAnswer = (settings: Settings): boolean => settings.query !== undefined && !hasProbes(settings)

const hasTransport =
  (query: ServerQuery) =>
  (port: WorldPort): boolean =>
    protocolsOf(port).includes(transportOf(query))

/**
 * Returns the port that a server is asked at: a port of the list, or the number of the port of the probes. Undefined if the rule is not
 * kept.
 */
export const queryPort = (
  query: ServerQuery,
  ports: readonly WorldPort[],
): WorldPort | typeof healthPort | undefined => {
  const { protocol, port = protocol === 'Http' ? healthPort : undefined } = query
  if (port === healthPort && transportOf(query) === 'TCP') return healthPort
  if (port === undefined) return publicPorts(ports).find(hasTransport(query))
  return ports.find((each) => each.containerPort === port && hasTransport(query)(each))
}

const isTcp = "(self.runtime.query.protocol == 'Http' || self.runtime.query.protocol == 'MinecraftJava')"
const carries = `(p.protocol == 'TCPUDP' || p.protocol == (${isTcp} ? 'TCP' : 'UDP'))`

/** The rule of a query and the ports of its world, for REST and for the API server. */
export const queryRule = {
  isKept: ({ query, ports }: { query: ServerQuery | undefined; ports: readonly WorldPort[] }): boolean =>
    query === undefined || queryPort(query, ports) !== undefined,
  /** In CEL; `self` is the spec of a World. */
  rule:
    '!has(self.runtime.query) || (has(self.runtime.query.port)' +
    ` ? ((self.runtime.query.port == ${healthPort} && ${isTcp}) || self.networking.ports.exists(p, p.containerPort == self.runtime.query.port && ${carries}))` +
    ` : (self.runtime.query.protocol == 'Http' || self.networking.ports.exists(p, p.expose == 'Public' && ${carries})))`,
  message: `runtime.query must have a port with its transport, which is TCP for Http and MinecraftJava and UDP for the others: set runtime.query.port to a containerPort in networking.ports, which may be Internal, or with TCP to ${healthPort}`,
} as const
