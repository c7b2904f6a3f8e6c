import type { ScopeIds } from '#api/domain/access/scope.ts'
import type { Connection, Entry, Subscription } from './connection.ts'
import type { RealtimeMetrics } from './metrics.ts'
import { type Frame, offerNotice, offerUpdate } from './pending.ts'
import { type DocumentContent, textFrame, updateText } from './protocol.ts'
import { canRead, clearStale, postpone } from './subscription.ts'
import { permissionPath } from './topic.ts'

export type DeliveryOptions = {
  readonly metrics: RealtimeMetrics
  /** Schedules a flush of the connection. */
  readonly scheduleFlush: (connection: Connection) => void
  readonly end: (connection: Connection, why: 'unread') => void
}

/**
 * Decides which messages each subscriber gets.
 *
 * An update is queued for a subscription only if its version is above the last queued version. Updates come from change
 * records and from snapshots, in any order. A new subscriber gets the snapshot first: a change that arrives earlier may
 * be older than the content that the client saw on a previous connection, but a snapshot read after the subscription
 * never is.
 */
export const createDelivery = ({ metrics, scheduleFlush, end }: DeliveryOptions) => {
  const queueUpdate = (subscription: Subscription, frame: Frame, versionMs: number): boolean => {
    const { connection } = subscription
    const { accepted, replaced } = offerUpdate(connection.pending, subscription, frame, connection.waitsForDrain)
    if (replaced > 0) metrics.addCoalesced(replaced)
    if (accepted) {
      subscription.sentVersionMs = versionMs
      clearStale(subscription)
    } else {
      postpone(subscription)
      metrics.addDropped(1)
    }
    scheduleFlush(connection)
    return accepted
  }
  return {
    /** Queues a warning or an error for a connection. Ends the connection if too many are unread. */
    sendNotice: (connection: Connection, text: string): void => {
      const frame = { bytes: textFrame(text), writtenMs: undefined }
      if (offerNotice(connection.pending, frame)) scheduleFlush(connection)
      else end(connection, 'unread')
    },
    /**
     * Queues a document for the topic's subscriptions that may read it and have an older version. `writtenMs` is the
     * monotonic time of the change. `receivers` are the subscriptions for which this document is the snapshot; other
     * subscriptions that still need a snapshot are skipped.
     */
    deliver: (
      entry: Entry,
      document: DocumentContent & ScopeIds,
      { writtenMs, receivers }: { writtenMs?: number; receivers?: ReadonlySet<Subscription> },
    ): void => {
      // Subscribers that wrote the id in the same way share one frame.
      const frames = new Map<string, Frame>()
      const path = permissionPath(document)
      for (const subscription of entry.subscriptions) {
        const { sentVersionMs, needsSnapshot, resource } = subscription
        if (needsSnapshot && !receivers?.has(subscription)) {
          subscription.skippedVersionMs = Math.max(subscription.skippedVersionMs, document.versionMs)
          continue
        }
        const isKnown = document.versionMs < sentVersionMs || (document.versionMs === sentVersionMs && !needsSnapshot)
        if (isKnown || !canRead(subscription, document, path)) continue
        let frame = frames.get(resource.id)
        if (frame === undefined) {
          frame = { bytes: textFrame(updateText(resource, document)), writtenMs }
          frames.set(resource.id, frame)
          entry.bytes = frame.bytes.length
        }
        if (queueUpdate(subscription, frame, document.versionMs)) subscription.needsSnapshot = false
      }
    },
  }
}
