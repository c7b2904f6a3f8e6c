import { RealtimeError } from './error.ts'
import type { Resource } from './resource.ts'
import type { Deletion, Missing, Update } from './types.ts'

/** What the API says of a resource. */
export type News =
  | { readonly kind: 'update'; readonly told: Update }
  | { readonly kind: 'deletion'; readonly told: Deletion }
  | { readonly kind: 'missing'; readonly told: Missing }
  | { readonly kind: 'error'; readonly told: { readonly resource: Resource; readonly error: RealtimeError } }

/** Reads a message; undefined is one that is about no resource, or is none at all. */
export const readNews = (text: unknown): News | undefined => {
  const said = parse(text)
  if (!isObject(said) || !isResource(said.resource)) return undefined
  const { resource, data, version, userId, message } = said
  const words = typeof message === 'string' ? message : ''
  if (typeof said.error === 'string') {
    return { kind: 'error', told: { resource, error: new RealtimeError(said.error, words || said.error, resource) } }
  }
  if (said.warning === 'resource_not_found') return { kind: 'missing', told: { resource, message: words } }
  if (!isObject(data) || typeof version !== 'string') return undefined
  // No document that exists is empty.
  if (Object.keys(data).length === 0) return { kind: 'deletion', told: { resource, version } }
  const owner = typeof userId === 'string' ? userId : ''
  return { kind: 'update', told: { resource, data: data as Update['data'], version, userId: owner } }
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
