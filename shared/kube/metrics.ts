import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

/** The counts of the kit, under the names and buckets of controller-runtime, so that its dashboards work. */
export type KubeMetrics = {
  request(method: string, code: string): void
  queueAdd(controller: string): void
  queueRetry(controller: string): void
  watchDepth(controller: string, depth: () => number): void
  reconciled(controller: string, result: 'success' | 'requeue_after' | 'error', seconds: number): void
  relisted(resource: string): void
  watchEvent(resource: string): void
}

/** Registers the kit's metrics in a registry; once a registry. */
export const createKubeMetrics = (registry: Registry): KubeMetrics => {
  const registers = [registry]
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
    new Counter({ name, help, labelNames, registers })
  const requests = counter('rest_client_requests_total', 'Requests to the API server.', ['method', 'code'])
  const adds = counter('workqueue_adds_total', 'Keys added to a queue.', ['name'])
  const retries = counter('workqueue_retries_total', 'Keys added again after a failure.', ['name'])
  const total = counter('controller_runtime_reconcile_total', 'Reconciles by result.', ['controller', 'result'])
  const errors = counter('controller_runtime_reconcile_errors_total', 'Reconciles that failed.', ['controller'])
  const relists = counter('reflector_lists_total', 'Full lists of a cache.', ['name'])
  const events = counter('reflector_watch_events_total', 'Events that a cache took.', ['name'])
  const seconds = new Histogram({
    name: 'controller_runtime_reconcile_time_seconds',
    help: 'How long a reconcile took.',
    labelNames: ['controller'],
    buckets: [
      0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.5, 2, 5, 10,
      30, 60,
    ],
    registers,
  })
  const depths = new Map<string, () => number>()
  new Gauge({
    name: 'workqueue_depth',
    help: 'Keys that wait for a worker.',
    labelNames: ['name'],
    registers,
    collect() {
      for (const [name, depth] of depths) this.set({ name }, depth())
    },
  })
  return {
    request: (method, code) => requests.inc({ method, code }),
    queueAdd: (name) => adds.inc({ name }),
    queueRetry: (name) => retries.inc({ name }),
    watchDepth: (name, depth) => depths.set(name, depth),
    reconciled: (controller, result, duration) => {
      total.inc({ controller, result })
      if (result === 'error') errors.inc({ controller })
      seconds.observe({ controller }, duration)
    },
    relisted: (name) => relists.inc({ name }),
    watchEvent: (name) => events.inc({ name }),
  }
}
