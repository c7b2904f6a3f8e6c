import type { WorldAnswer } from '#api/domain/worlds/schema.ts'
import { documentTypes } from '#shared/enumerations.ts'

/** The types that a client can subscribe to: documents, the status of a world, and all worlds of a scope. */
export const resourceTypes = [...documentTypes, 'world', 'worlds'] as const
export type ResourceType = (typeof resourceTypes)[number]
/** A resource as the client named it. */
export type ResourceName = { readonly type: string; readonly id: string }
/** A message from a client. */
export type ClientMessage = { readonly action: 'subscribe' | 'unsubscribe'; readonly resource: ResourceName }

/** The details of a present world in a feed, beside its name and status. */
export type FeedDetails = {
  readonly createdAt: string
  readonly labels: WorldAnswer['metadata']['labels']
  readonly profile: WorldAnswer['networking']['scaling']['profile']
  readonly group: WorldAnswer['compute']['group']
  readonly region: WorldAnswer['compute']['region']
  readonly mapName: string
  readonly capacity: number
  /** The players in the world and those who wait. Absent if its server does not report them, or has not had any yet. */
  readonly players?: number
  readonly queued?: number
  /** The version and the map that the server reports beside its players. */
  readonly reportedVersion?: string
  readonly reportedMap?: string
  /** The restarts of the run's server. */
  readonly restarts: number
}

/** A world in a feed. A deleted world has only its ids and its version. */
export type FeedWorld = {
  readonly worldId: string
  readonly projectId: string
  readonly version: string
} & ({ readonly isDeleted: true } | ({ readonly name: string; readonly status: WorldAnswer['status'] } & FeedDetails))

/** A string that contains valid JSON. */
export type Json = string & { readonly json?: true }

/** Parses a client message. Returns undefined if it is malformed. Unknown members are ignored. */
export const readMessage = (text: string): ClientMessage | undefined => {
  const value = parse(text)
  if (!isObject(value) || !isObject(value.resource)) return undefined
  const { action, resource } = value
  const { type, id } = resource
  if (action !== 'subscribe' && action !== 'unsubscribe') return undefined
  if (typeof type !== 'string' || typeof id !== 'string') return undefined
  return { action, resource: { type, id } }
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The content of a document at one version. `versionMs` is milliseconds since the epoch. */
export type DocumentContent = { readonly versionMs: number; readonly userId: string; readonly data: Json }

/** Returns an update message with the resource id as the subscriber wrote it. The data is JSON and is not parsed again. */
export const updateText = ({ type, id }: ResourceName, { versionMs, userId, data }: DocumentContent): string =>
  `{"userId":${JSON.stringify(userId)},"resource":${JSON.stringify({ type, id })},"data":${data},` +
  `"version":"${new Date(versionMs).toISOString()}"}`

/** Returns the warning for a resource that does not exist or that the client may not read. The warning ends the subscription of a feed. */
export const notFoundText = (resource: ResourceName): string =>
  JSON.stringify({
    warning: 'resource_not_found',
    message: `The ${resource.type} resource does not exist. ${
      resource.type === 'worlds' ? 'The subscription has ended.' : 'The subscription is active and waits for it.'
    }`,
    resource,
  })

/** The worlds of one message of a feed. `snapshot` marks a page of the present worlds. */
export type FeedData = {
  readonly worlds: readonly FeedWorld[]
  readonly snapshot?: { readonly isFirst: boolean; readonly isLast: boolean }
}

/** The errors of the protocol, with the text that the client receives. */
export const faults = {
  malformed: 'Invalid message format',
  type: 'Unknown resource type',
  id: 'Invalid resource id',
  permission: 'No permission',
  limit: 'Too many subscriptions',
} as const
export type Fault = keyof typeof faults

/** Returns an error message. The quoted type and id are cut to 256 characters each. */
export const errorText = (fault: Fault, about?: { message: string; resource: ResourceName }): string => {
  if (about === undefined) return JSON.stringify({ error: faults[fault] })
  const { type, id } = about.resource
  const resource = { type: type.slice(0, 256), id: id.slice(0, 256) }
  return JSON.stringify({ error: faults[fault], message: about.message, resource })
}

/** The error that precedes the end of a connection. */
export const closingError = 'Connection closed'

/** Returns the frame of the error that tells a client why its connection ends. */
export const closingFrame = (reason: string): Buffer =>
  textFrame(JSON.stringify({ error: closingError, message: reason }))

/** Encodes a complete unmasked text frame (RFC 6455, section 5.2), which can be written to many sockets. */
export const textFrame = (text: string): Buffer => {
  const payload = Buffer.from(text)
  const { length } = payload
  const header = length < 126 ? Buffer.alloc(2) : length < 65_536 ? Buffer.alloc(4) : Buffer.alloc(10)
  header[0] = 0x81
  if (length < 126) header[1] = length
  else if (length < 65_536) {
    header[1] = 126
    header.writeUInt16BE(length, 2)
  } else {
    header[1] = 127
    header.writeBigUInt64BE(BigInt(length), 2)
  }
  return Buffer.concat([header, payload])
}
