import type { Resource } from '../client.ts'
import type { KubeObject } from '../objects.ts'

/** The kind of the kit's own tests. */
export type Thing = KubeObject & { spec?: { size: number } }

/** The Thing resource. */
export const things: Resource = { group: 'example.test', version: 'v1', plural: 'things', kind: 'Thing' }

/** A thing in the namespace `home`. */
export const thing = (name: string, resourceVersion: string, more: { uid?: string; owner?: string } = {}): Thing => ({
  apiVersion: 'example.test/v1',
  kind: 'Thing',
  metadata: {
    name,
    namespace: 'home',
    uid: more.uid ?? `uid-${name}`,
    resourceVersion,
    ...(more.owner === undefined ? {} : { labels: { owner: more.owner } }),
  },
})

/** A list as the server writes it: its items have no type of their own. */
export const listOf = (resourceVersion: string, items: Thing[], next?: string) => ({
  apiVersion: 'example.test/v1',
  kind: 'ThingList',
  metadata: { resourceVersion, ...(next === undefined ? {} : { continue: next }) },
  items: items.map(({ metadata, spec }) => ({ metadata, ...(spec === undefined ? {} : { spec }) })),
})

/** A line of a watch. */
export const event = (type: string, object: unknown): string => `${JSON.stringify({ type, object })}\n`

/** A bookmark's line. */
export const bookmark = (resourceVersion: string): string =>
  event('BOOKMARK', { kind: 'Thing', metadata: { resourceVersion } })

/** An ERROR line. */
export const failure = (code: number, reason: string): string =>
  event('ERROR', { kind: 'Status', code, reason, message: reason })
