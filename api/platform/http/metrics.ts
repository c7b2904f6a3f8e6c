import { Histogram, type Registry } from 'prom-client'

/** Counts and durations of requests; the route is its pattern, never the path, so that labels stay few. */
export const createHttpMetrics = (registry: Registry) => {
  const seconds = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'How long requests took.',
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
