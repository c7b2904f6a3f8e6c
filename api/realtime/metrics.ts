import { Counter, Gauge, type Registry } from 'prom-client'
import type { Ending } from './ending.ts'
import { createHistogram } from './histogram.ts'

/** Recorders for the metrics of realtime. */
export type RealtimeMetrics = {
  addConnections(by: 1 | -1): void
  addSubscriptions(by: 1 | -1): void
  /** Counts a written message. The lag is the time since its change was written; undefined for snapshots and notices. */
  observeDelivery(lagSeconds: number | undefined): void
  /** Counts updates that a newer update of the same document replaced before they were written. */
  addCoalesced(count: number): void
  /** Counts updates that were dropped, to be read again later or because the connection ended. */
  addDropped(count: number): void
  countClose(reason: Ending | 'client'): void
  /** Records the time of a poll of the change records. */
  recordPoll(): void
  /** Counts a refresh of all topics. */
  countRefresh(): void
}

/** Registers the metrics of realtime. `nowMs` is monotonic; `bufferedBytes` returns the bytes buffered for all clients. */
export const createRealtimeMetrics = (
  registry: Registry,
  nowMs: () => number,
  bufferedBytes: () => number,
): RealtimeMetrics => {
  const registers = [registry]
  const counter = (name: string, help: string) => new Counter({ name: `orrery_realtime_${name}`, help, registers })
  const gauge = (name: string, help: string) => new Gauge({ name: `orrery_realtime_${name}`, help, registers })
  const connections = gauge('connections', 'Open connections.')
  const subscriptions = gauge('subscriptions', 'Subscriptions of the open connections.')
  let delivered = 0
  new Counter({
    name: 'orrery_realtime_deliveries_total',
    help: 'Messages written to clients.',
    registers,
    collect() {
      this.reset()
      this.inc(delivered)
    },
  })
  const coalesced = counter(
    'coalesced_total',
    'Updates replaced by a newer update of the same document before they were written.',
  )
  const dropped = counter(
    'dropped_total',
    'Updates dropped because the queue of a client was full or its connection ended.',
  )
  const refreshes = counter('refreshes_total', 'Refreshes of all topics.')
  const observeLag = createHistogram(registry, {
    name: 'orrery_realtime_lag_seconds',
    help: 'Seconds from writing a change to Postgres to writing it to a client.',
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  })
  const closed = new Counter({
    name: 'orrery_realtime_closed_total',
    help: 'Closed connections, by reason.',
    labelNames: ['reason'],
    registers,
  })
  new Gauge({
    name: 'orrery_realtime_buffered_bytes',
    help: 'Bytes buffered for clients. A frame for several clients is counted for each.',
    registers,
    collect() {
      this.set(bufferedBytes())
    },
  })
  let polledMs = nowMs()
  new Gauge({
    name: 'orrery_realtime_tail_silence_seconds',
    help: 'Seconds since the last poll of the change records.',
    registers,
    collect() {
      this.set((nowMs() - polledMs) / 1000)
    },
  })
  return {
    addConnections: (by) => connections.inc(by),
    addSubscriptions: (by) => subscriptions.inc(by),
    observeDelivery: (lagSeconds) => {
      delivered += 1
      if (lagSeconds !== undefined) observeLag(Math.max(0, lagSeconds))
    },
    addCoalesced: (count) => count > 0 && coalesced.inc(count),
    addDropped: (count) => count > 0 && dropped.inc(count),
    countClose: (reason) => closed.inc({ reason }),
    recordPoll: () => {
      polledMs = nowMs()
    },
    countRefresh: () => refreshes.inc(),
  }
}
