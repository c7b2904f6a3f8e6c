import { RealtimeError } from './error.ts'
import type { Resource } from './resource.ts'
import type { FeedPage } from './table.ts'
import type { Deletion, Missing, Update } from './types.ts'

/** A message about a resource. */
export type Message =
  | { readonly kind: 'update'; readonly event: Update }
  | { readonly kind: 'page'; readonly event: Omit<Update<'worlds'>, 'data'> & { readonly data: FeedPage } }
  | { readonly kind: 'deletion'; readonly event: Deletion }
  | { readonly kind: 'missing'; readonly event: Missing }
  | { readonly kind: 'error'; readonly event: { readonly resource: Resource; readonly error: RealtimeError } }

/** Parses a message. Returns undefined for one that is invalid or concerns no resource. */
export const parseMessage = (text: unknown): Message | undefined => {
  const message = parse(text)
  if (!isObject(message) || !isResource(message.resource)) return undefined
  const { resource, data, version, userId } = message
  const description = typeof message.message === 'string' ? message.message : ''
  if (typeof message.error === 'string') {
    return {
      kind: 'error',
      event: { resource, error: new RealtimeError(message.error, description || message.error, resource) },
    }
  }
  if (message.warning === 'resource_not_found') return { kind: 'missing', event: { resource, message: description } }
  if (!isObject(data) || typeof version !== 'string') return undefined
  const owner = typeof userId === 'string' ? userId : ''
  if (isOfType(resource, 'worlds')) {
    return isPage(data) ? { kind: 'page', event: { resource, data, version, userId: owner } } : undefined
  }
  // Empty data means a deletion, since no existing document is empty.
  if (Object.keys(data).length === 0) return { kind: 'deletion', event: { resource, version } }
  return { kind: 'update', event: { resource, data: data as Update['data'], version, userId: owner } }
}

const parse = (text: unknown): unknown => {
  try {
    return JSON.parse(String(text))
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isResource = (value: unknown): value is Resource =>
  isObject(value) && typeof value.type === 'string' && typeof value.id === 'string'

const isOfType = <Type extends Resource['type']>(resource: Resource, type: Type): resource is Resource<Type> =>
  resource.type === type

const isPage = (data: Readonly<Record<string, unknown>>): data is FeedPage =>
  Array.isArray(data.worlds) && data.worlds.every((world) => isObject(world) && typeof world.worldId === 'string')
