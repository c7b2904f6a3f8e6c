import type { ScopeIds } from '#api/domain/access/scope.ts'
import type { Connection, Entry, Subscription } from './connection.ts'
import type { RealtimeMetrics } from './metrics.ts'
import { type Frame, offerNotice, offerUpdate } from './pending.ts'
import { type Told, textFrame, updateText } from './protocol.ts'
import { forgetStale, reads } from './subscription.ts'
import { nodePath } from './topic.ts'

export type DeliveryOptions = {
  readonly metrics: RealtimeMetrics
  /** Flushes the connection soon. */
  readonly wantsFlush: (connection: Connection) => void
  readonly end: (connection: Connection, why: 'unread') => void
}

/**
 * Decides what each subscriber is told. The rule that everything rests on: an update is offered to a subscription only
 * if its version is above the last one. Updates come from two sources, the changes and the rows, in any order between
 * them, and it does not matter. To one who is owed the present document nothing else is told before it: it could be older
 * than what the client was told on an earlier connection, which a reading that began after the subscription never is.
 */
export const createDelivery = ({ metrics, wantsFlush, end }: DeliveryOptions) => {
  const offer = (subscription: Subscription, frame: Frame, versionMs: number): boolean => {
    const { connection } = subscription
    const { taken, replaced } = offerUpdate(connection.pending, subscription, frame, connection.waitsForDrain)
    if (replaced > 0) metrics.coalesced(replaced)
    if (taken) {
      subscription.sentMs = versionMs
      forgetStale(subscription)
    } else {
      if (!connection.stale.includes(subscription)) connection.stale.push(subscription)
      metrics.dropped(1)
    }
    wantsFlush(connection)
    return taken
  }
  return {
    /** Tells one connection a warning or an error. */
    say: (connection: Connection, text: string): void => {
      const frame = { bytes: textFrame(text), writtenMs: undefined }
      if (offerNotice(connection.pending, frame)) wantsFlush(connection)
      else end(connection, 'unread')
    },
    /**
     * Tells all who follow a topic, may read it and do not know it yet; `writtenMs` is monotonic. Of those to whom the
     * present document is owed, it tells those to whom this is it.
     */
    deliver: (
      entry: Entry,
      told: Told & ScopeIds,
      { writtenMs, owed }: { writtenMs?: number; owed?: ReadonlySet<Subscription> },
    ): void => {
      // One encoding for all who wrote the id alike, which is nearly everybody.
      const frames = new Map<string, Frame>()
      const path = nodePath(told)
      for (const subscription of entry.subscriptions) {
        const { sentMs, awaits, named } = subscription
        if (awaits && !owed?.has(subscription)) {
          subscription.passedMs = Math.max(subscription.passedMs, told.versionMs)
          continue
        }
        if (told.versionMs < sentMs || (told.versionMs === sentMs && !awaits)) continue
        if (!reads(subscription, told, path)) continue
        let frame = frames.get(named.id)
        if (frame === undefined) {
          frame = { bytes: textFrame(updateText(named, told)), writtenMs }
          frames.set(named.id, frame)
        }
        if (offer(subscription, frame, told.versionMs)) subscription.awaits = false
      }
    },
  }
}
