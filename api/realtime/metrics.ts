import { Counter, Gauge, type Registry } from 'prom-client'
import type { Ending } from './ending.ts'
import { createHistogram } from './histogram.ts'

/** What realtime tells of itself. */
export type RealtimeMetrics = {
  connections(by: 1 | -1): void
  subscriptions(by: 1 | -1): void
  /** A message was written, so many seconds after its change was; undefined where it answers a client. */
  delivered(lagSeconds: number | undefined): void
  /** Updates that a newer one of their resource took the place of, since the client was behind. */
  coalesced(count: number): void
  /** Updates that were given up: read again later, or their connection ended. */
  dropped(count: number): void
  closed(reason: Ending | 'client'): void
  /** The tail read the changes. */
  polled(): void
  /** Everything that is followed is read. */
  refreshed(): void
}

/** Registers the metrics of realtime; `nowMs` is monotonic, `bufferedBytes` is what waits for all clients together. */
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
    help: 'Messages that were written to clients.',
    registers,
    collect() {
      this.reset()
      this.inc(delivered)
    },
  })
  const coalesced = counter('coalesced_total', 'Updates whose place a newer one took before they were written.')
  const dropped = counter('dropped_total', 'Updates that were not kept for a client, or waited when it went.')
  const refreshes = counter('refreshes_total', 'How often everything that is followed was read anew.')
  const observeLag = createHistogram(registry, {
    name: 'orrery_realtime_lag_seconds',
    help: 'Seconds from the writing of a change in Postgres to its writing to a client.',
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  })
  const closed = new Counter({
    name: 'orrery_realtime_closed_total',
    help: 'Connections that ended, by why.',
    labelNames: ['reason'],
    registers,
  })
  new Gauge({
    name: 'orrery_realtime_buffered_bytes',
    help: 'Bytes that wait for clients; what waits for several is counted for each.',
    registers,
    collect() {
      this.set(bufferedBytes())
    },
  })
  let polledMs = nowMs()
  new Gauge({
    name: 'orrery_realtime_tail_silence_seconds',
    help: 'Seconds since the changes were last read.',
    registers,
    collect() {
      this.set((nowMs() - polledMs) / 1000)
    },
  })
  return {
    connections: (by) => connections.inc(by),
    subscriptions: (by) => subscriptions.inc(by),
    delivered: (lagSeconds) => {
      delivered += 1
      if (lagSeconds !== undefined) observeLag(Math.max(0, lagSeconds))
    },
    coalesced: (count) => count > 0 && coalesced.inc(count),
    dropped: (count) => count > 0 && dropped.inc(count),
    closed: (reason) => closed.inc({ reason }),
    polled: () => {
      polledMs = nowMs()
    },
    refreshed: () => refreshes.inc(),
  }
}
