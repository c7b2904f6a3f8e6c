import type { ScopeIds } from '#api/domain/access/scope.ts'
import type { Connection, Subscription } from './connection.ts'
import type { Fault, Named } from './protocol.ts'
import { type Asked, mayRead, nodePath, readTopic } from './topic.ts'

/** How many resources one connection may follow. */
export const maxSubscriptions = 128

/** The subscription of a connection to what it names so. */
export const findSubscription = ({ subscriptions }: Connection, { type, id }: Named): Subscription | undefined =>
  subscriptions.find(({ named }) => named.type === type && named.id === id)

/** What a subscription was not told waits to be read no more. */
export const forgetStale = (subscription: Subscription): void => {
  const { connection } = subscription
  if (connection.stale.length > 0) connection.stale = connection.stale.filter((each) => each !== subscription)
}

/** Whether a connection may follow what it names, and what that is. */
export const decideSubscribe = (connection: Connection, named: Named): Asked | { fault: Fault; message: string } => {
  const asked = readTopic(connection.scope, named)
  if ('fault' in asked) return asked
  if (asked.known && !mayRead(connection.principal.permissions, nodePath(asked.topic))) {
    return { fault: 'permission', message: 'The credential may not read this scope.' }
  }
  if (connection.subscriptions.length >= maxSubscriptions) {
    return { fault: 'limit', message: `A connection has at most ${maxSubscriptions} subscriptions.` }
  }
  return asked
}

/**
 * Whether a subscription may be told of something at these ids, whose node has this path, by its permissions and the
 * headers of its connection.
 */
export const reads = (subscription: Subscription, place: ScopeIds, path = nodePath(place)): boolean => {
  const { connection, entry } = subscription
  const { projectId } = connection.scope
  if (entry.topic.type === 'world' && projectId !== '' && projectId !== place.projectId) return false
  if (subscription.grant?.path !== path) {
    subscription.grant = { path, reads: mayRead(connection.principal.permissions, path) }
  }
  return subscription.grant.reads
}

/** What new permissions mean for a subscription: it ends, it is to be read, or nothing. */
export const afterPermit = (
  { grant, entry, known }: Subscription,
  permissions: readonly string[],
): 'end' | 'read' | 'nothing' => {
  const path = grant?.path ?? (known ? nodePath(entry.topic) : undefined)
  if (path === undefined || mayRead(permissions, path)) return grant?.reads === true ? 'nothing' : 'read'
  // What was told as absent stays so.
  return grant?.reads === false ? 'nothing' : 'end'
}
