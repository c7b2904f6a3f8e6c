import { documentTypes } from '#shared/enumerations.ts'

/** What can be followed: the documents, and the status of worlds. */
export const resourceTypes = [...documentTypes, 'world'] as const
export type ResourceType = (typeof resourceTypes)[number]
/** A resource as a client names it. */
export type Named = { readonly type: string; readonly id: string }
/** What a client asks for. */
export type ClientMessage = { readonly action: 'subscribe' | 'unsubscribe'; readonly resource: Named }

/** A text of which it is known that it is JSON. */
export type Json = string & { readonly json?: true }

/** Reads a message of a client; undefined is a malformed one. Members that are not known are passed over. */
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

/** A resource as it is told to those who follow it; `versionMs` is milliseconds since the epoch. */
export type Told = { readonly versionMs: number; readonly userId: string; readonly data: Json }

/** An update, with the id as the subscriber wrote it. The data is JSON already, and is not parsed again. */
export const updateText = ({ type, id }: Named, { versionMs, userId, data }: Told): string =>
  `{"userId":${JSON.stringify(userId)},"resource":${JSON.stringify({ type, id })},"data":${data},` +
  `"version":"${new Date(versionMs).toISOString()}"}`

/** The warning that a resource does not exist, or cannot be told from one that does not. */
export const notFoundText = (resource: Named): string =>
  JSON.stringify({
    warning: 'resource_not_found',
    message: `The ${resource.type} resource does not exist; the subscription waits for it.`,
    resource,
  })

/** The errors that a message can have, in the words that the client is told. */
export const faults = {
  malformed: 'Invalid message format',
  type: 'Unknown resource type',
  id: 'Invalid resource id',
  permission: 'No permission',
  limit: 'Too many subscriptions',
} as const
export type Fault = keyof typeof faults

/** An error; what is quoted of a resource is cut. */
export const errorText = (fault: Fault, about?: { message: string; resource: Named }): string => {
  if (about === undefined) return JSON.stringify({ error: faults[fault] })
  const { type, id } = about.resource
  const resource = { type: type.slice(0, 256), id: id.slice(0, 256) }
  return JSON.stringify({ error: faults[fault], message: about.message, resource })
}

/** A whole unmasked text frame (RFC 6455, 5.2), so that a text for many is encoded once. */
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
