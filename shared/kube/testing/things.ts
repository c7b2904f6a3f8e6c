import { withDefined } from '#shared/optional.ts'
import type { Resource } from '../client.ts'
import type { KubeObject } from '../objects.ts'

/** The kind of object that the kit's tests use. */
export type Thing = KubeObject & { spec?: { size: number } }

/** The Thing resource. */
export const things: Resource = { group: 'example.test', version: 'v1', plural: 'things', kind: 'Thing' }

/** Returns a Thing in the namespace `home`. */
export const thing = (name: string, resourceVersion: string, more: { uid?: string; owner?: string } = {}): Thing => ({
  apiVersion: 'example.test/v1',
  kind: 'Thing',
  metadata: {
    name,
    namespace: 'home',
    uid: more.uid ?? `uid-${name}`,
    resourceVersion,
    ...(more.owner && { labels: { owner: more.owner } }),
  },
})

/** Returns a list as the server sends it: its items have no apiVersion and kind. */
export const listOf = (resourceVersion: string, items: Thing[], next?: string) => ({
  apiVersion: 'example.test/v1',
  kind: 'ThingList',
  metadata: { resourceVersion, ...withDefined({ continue: next }) },
  items: items.map(({ metadata, spec }) => ({ metadata, ...withDefined({ spec }) })),
})

/** Returns a line of a watch. */
export const event = (type: string, object: unknown): string => `${JSON.stringify({ type, object })}\n`

/** Returns the line of a bookmark. */
export const bookmark = (resourceVersion: string): string =>
  event('BOOKMARK', { kind: 'Thing', metadata: { resourceVersion } })

/** Returns the line of an ERROR event. */
export const failure = (code: number, reason: string): string =>
  event('ERROR', { kind: 'Status', code, reason, message: reason })
