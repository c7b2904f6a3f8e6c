import type { ScopeIds } from '#api/domain/access/scope.ts'
import type { Connection, Subscription } from './connection.ts'
import { maxPendingBytes } from './pending.ts'
import type { Fault, ResourceName } from './protocol.ts'
import { mayListFeed, mayRead, permissionPath, readTopic, type SubscriptionTarget } from './topic.ts'

/** The highest number of subscriptions of one connection. */
export const maxSubscriptions = 128

/** Returns the connection's subscription with this type and id. */
export const findSubscription = ({ subscriptions }: Connection, { type, id }: ResourceName): Subscription | undefined =>
  subscriptions.find(({ resource }) => resource.type === type && resource.id === id)

/** Lets the connection read the subscription's document again when it has room. */
export const postpone = (subscription: Subscription): void => {
  const { stale } = subscription.connection
  if (!stale.includes(subscription)) stale.push(subscription)
}

/** Removes and returns postponed subscriptions until their documents, by their last known sizes, fill the connection's queue. */
export const takeStale = (connection: Connection): Subscription[] => {
  const { stale, pending } = connection
  let room = maxPendingBytes - pending.bytes
  let count = 0
  for (const { entry } of stale) {
    if (room <= 0) break
    room -= entry.bytes
    count += 1
  }
  return stale.splice(0, count)
}

/** Removes the subscription from the list of documents to read again. */
export const clearStale = (subscription: Subscription): void => {
  const { connection } = subscription
  if (connection.stale.length > 0) connection.stale = connection.stale.filter((each) => each !== subscription)
}

/** Returns the target of a new subscription, or the error that refuses it. */
export const decideSubscribe = (
  connection: Connection,
  resource: ResourceName,
): SubscriptionTarget | { fault: Fault; message: string } => {
  const target = readTopic(connection.scope, resource)
  if ('fault' in target) return target
  const { permissions } = connection.principal
  const { topic } = target
  const isAllowed =
    topic.type === 'worlds' ? mayListFeed(permissions, topic) : mayRead(permissions, permissionPath(topic))
  if (target.isOwnScope && !isAllowed) {
    return { fault: 'permission', message: 'The credential has no permission to read this scope.' }
  }
  if (connection.subscriptions.length >= maxSubscriptions) {
    return { fault: 'limit', message: `A connection has at most ${maxSubscriptions} subscriptions.` }
  }
  return target
}

/**
 * Reports whether the subscriber may read a document in this scope, by the permissions and the headers of its connection.
 * `path` is the permission path of the scope.
 */
export const canRead = (subscription: Subscription, scope: ScopeIds, path = permissionPath(scope)): boolean => {
  const { connection, entry } = subscription
  const { projectId } = connection.scope
  if (entry.topic.type === 'world' && projectId !== '' && projectId !== scope.projectId) return false
  if (subscription.grant?.path !== path) {
    subscription.grant = { path, canRead: mayRead(connection.principal.permissions, path) }
  }
  return subscription.grant.canRead
}

/** Decides the effect of new permissions on a subscription: end it, read its document, or nothing. */
export const permissionEffect = (
  { grant, entry, isOwnScope }: Subscription,
  permissions: readonly string[],
): 'end' | 'read' | 'nothing' => {
  if (entry.topic.type === 'worlds') return mayListFeed(permissions, entry.topic) ? 'read' : 'end'
  const path = grant?.path ?? (isOwnScope ? permissionPath(entry.topic) : undefined)
  if (path === undefined || mayRead(permissions, path)) return grant?.canRead === true ? 'nothing' : 'read'
  // The client was told that the resource does not exist, and must not learn otherwise.
  return grant?.canRead === false ? 'nothing' : 'end'
}
