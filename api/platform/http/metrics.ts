import { Gauge, Histogram, type Registry } from 'prom-client'
import type { Budget } from '#api/platform/fairness/budget.ts'

/** Registers the request histogram. The label `route` is the route's pattern, so its cardinality is low. */
export const createHttpMetrics = (registry: Registry) => {
  const seconds = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Duration of HTTP requests in seconds.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  })
  return {
    observe: (labels: { method: string; route: string; status: number }, duration: number): void => {
      seconds.observe({ ...labels, status: String(labels.status) }, duration)
    },
  }
}

/** Registers the gauge of the bytes of requests and responses in memory. */
export const observeInFlight = (registry: Registry, { heldBytes }: Pick<Budget, 'heldBytes'>): void => {
  new Gauge({
    name: 'orrery_in_flight_bytes',
    help: 'Bytes of request bodies and responses that requests in progress hold in memory.',
    registers: [registry],
    collect() {
      this.set(heldBytes())
    },
  })
}
