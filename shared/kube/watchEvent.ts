import { withoutManagedFields } from './client.ts'
import { errorFromStatus, isRecord, KubeError } from './errors.ts'
import type { KubeObject } from './objects.ts'

/** One line of a watch. A bookmark has no object: it says how far the watch has come. */
export type WatchEvent<T> =
  | { readonly type: 'put' | 'remove'; readonly object: T; readonly version: string }
  | { readonly type: 'bookmark'; readonly version: string }

/**
 * Reads a parsed line. An ERROR event is thrown as the `KubeError` that it stands for; a line that is no event as one of
 * reason Malformed. A type of event that is not known yet moves the version on and nothing else.
 */
export const readWatchEvent = <T extends KubeObject>(line: unknown): WatchEvent<T> => {
  const { type, object } = isRecord(line) ? line : {}
  if (type === 'ERROR') throw errorFromStatus(codeOf(object), object, 'watch')
  if (typeof type !== 'string' || !isObject<T>(object)) throw malformed(line)
  const version = object.metadata.resourceVersion
  if (version === undefined) throw malformed(line)
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
      return { type: 'put', object: withoutManagedFields(object), version }
    case 'DELETED':
      return { type: 'remove', object: withoutManagedFields(object), version }
    default:
      return { type: 'bookmark', version }
  }
}

/** What is relied on of an object; all else is the business of whoever reads it. */
const isObject = <T extends KubeObject>(value: unknown): value is T =>
  isRecord(value) && isRecord(value.metadata) && typeof value.metadata.resourceVersion === 'string'

const codeOf = (status: unknown): number => (isRecord(status) && typeof status.code === 'number' ? status.code : 500)

const malformed = (line: unknown): KubeError =>
  new KubeError({
    message: `watch: a line is no event: ${JSON.stringify(line)?.slice(0, 128)}`,
    status: 0,
    reason: 'Malformed',
  })
