import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

/** The metrics of a queue. Times are in seconds. */
export type QueueMetrics = {
  countAdd(): void
  /** A key was added with a delay. */
  countRetry(): void
  observeWait(seconds: number): void
  observeWork(seconds: number): void
  /** Sets the function that a scrape reads. */
  observe(read: () => { depth: number; secondsAtWork: number[] }): void
}

/** The result of a reconcile, as controller-runtime labels it. */
export type Outcome = 'success' | 'requeue_after' | 'error'

/** The metrics of a controller. */
export type ControllerMetrics = {
  /** Records the start of a reconcile. Call the returned function at its end. */
  startReconcile(): (outcome: Outcome) => void
  countTerminalError(): void
  countTimeout(): void
}

/** The metrics of a cache. */
export type ReflectorMetrics = { countList(): void; countWatch(): void; countEvent(): void }

/** The metrics of an election. */
export type ElectionMetrics = { setLeading(isLeading: boolean): void }

/** The metrics of an event recorder: events written, and events dropped beyond a limit or after an error. */
export type EventMetrics = { countWritten(): void; countDropped(): void }

/** The metrics of the kit, with the names and buckets of controller-runtime and client-go, so that their dashboards work. */
export type KubeMetrics = {
  observeRequest(request: { method: string; code: string; host: string; seconds: number }): void
  /** A later queue, controller or cache replaces an earlier one of the same name. */
  queue(name: string): QueueMetrics
  controller(name: string, workers: number): ControllerMetrics
  reflector(name: string, silentMs: () => number): ReflectorMetrics
  election(lease: string): ElectionMetrics
  events: EventMetrics
}

/** controller-runtime's buckets for a reconcile, in seconds. */
const reconcileBuckets = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75, 2,
  2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
]
/** controller-runtime's labels of a queue. Both have the controller's name as value. */
const queueLabels = ['name', 'controller']
/** client-go's buckets for its queues: 10 ns to 1,000 s. */
const queueBuckets = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10, 100, 1000]
/** client-go's buckets for a request, in seconds. */
const requestBuckets = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60]

type Make = ReturnType<typeof createMake>

/** Registers the metrics of the kit. Call it once per registry. */
export const createKubeMetrics = (registry: Registry): KubeMetrics => {
  const make = createMake(registry)
  const requests = make.counter('rest_client_requests_total', 'Requests to the API server.', ['code', 'method', 'host'])
  const seconds = make.histogram(
    'rest_client_request_duration_seconds',
    'Seconds until the API server began to answer.',
    ['verb', 'host'],
    requestBuckets,
  )
  return {
    observeRequest: ({ method, code, host, seconds: taken }) => {
      requests.inc({ code, method, host })
      seconds.observe({ verb: method, host }, taken)
    },
    queue: createQueueMetrics(make),
    controller: createControllerMetrics(make),
    reflector: createReflectorMetrics(make),
    election: createElectionMetrics(make),
    events: createEventMetrics(make),
  }
}

const createMake = (registry: Registry) => {
  const registers = [registry]
  return {
    counter: <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
      new Counter({ name, help, labelNames, registers }),
    histogram: <L extends string>(name: string, help: string, labelNames: readonly L[], buckets: number[]) =>
      new Histogram({ name, help, labelNames, buckets, registers }),
    gauge: <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
      new Gauge({ name, help, labelNames, registers }),
    /** Registers a gauge that is read at each scrape, with one time series per name. */
    observed: (name: string, help: string, labelNames: string[], reads: ReadonlyMap<string, () => number>): void => {
      new Gauge({
        name,
        help,
        labelNames,
        registers,
        collect() {
          for (const [value, read] of reads) {
            this.set(Object.fromEntries(labelNames.map((label) => [label, value])), read())
          }
        },
      })
    },
  }
}

const createQueueMetrics = (make: Make): KubeMetrics['queue'] => {
  const adds = make.counter('workqueue_adds_total', 'Keys added to the queue.', queueLabels)
  const retries = make.counter('workqueue_retries_total', 'Keys added with a delay.', queueLabels)
  const waits = make.histogram('workqueue_queue_duration_seconds', 'Seconds in the queue.', queueLabels, queueBuckets)
  const works = make.histogram(
    'workqueue_work_duration_seconds',
    'Seconds of work on a key.',
    queueLabels,
    queueBuckets,
  )
  const depths = new Map<string, () => number>()
  const unfinished = new Map<string, () => number>()
  const longest = new Map<string, () => number>()
  make.observed('workqueue_depth', 'Keys that wait for a worker.', queueLabels, depths)
  make.observed('workqueue_unfinished_work_seconds', 'Seconds of work not yet done.', queueLabels, unfinished)
  make.observed('workqueue_longest_running_processor_seconds', 'Seconds of the longest work.', queueLabels, longest)
  return (name) => {
    const labels = { name, controller: name }
    return {
      countAdd: () => adds.inc(labels),
      countRetry: () => retries.inc(labels),
      observeWait: (seconds) => waits.observe(labels, seconds),
      observeWork: (seconds) => works.observe(labels, seconds),
      observe: (read) => {
        depths.set(name, () => read().depth)
        unfinished.set(name, () => read().secondsAtWork.reduce((sum, each) => sum + each, 0))
        longest.set(name, () => Math.max(0, ...read().secondsAtWork))
      },
    }
  }
}

const createControllerMetrics = (make: Make): KubeMetrics['controller'] => {
  const prefix = 'controller_runtime'
  const label = ['controller'] as const
  const total = make.counter(`${prefix}_reconcile_total`, 'Reconciles by result.', ['controller', 'result'])
  const errors = make.counter(`${prefix}_reconcile_errors_total`, 'Reconciles that failed.', label)
  const terminal = make.counter(`${prefix}_terminal_reconcile_errors_total`, 'Of these, those not tried again.', label)
  const timeouts = make.counter(`${prefix}_reconcile_timeouts_total`, 'Reconciles that took too long.', label)
  const times = make.histogram(`${prefix}_reconcile_time_seconds`, 'Seconds of a reconcile.', label, reconcileBuckets)
  const limit = make.gauge(`${prefix}_max_concurrent_reconciles`, 'Reconciles that may run at a time.', label)
  const active = make.gauge(`${prefix}_active_workers`, 'Reconciles under way.', label)
  return (controller, workers) => {
    // As controller-runtime does: a rate over a counter needs its zero.
    for (const result of ['success', 'requeue_after', 'requeue', 'error']) total.inc({ controller, result }, 0)
    for (const counter of [errors, terminal, timeouts]) counter.inc({ controller }, 0)
    limit.set({ controller }, workers)
    active.set({ controller }, 0)
    return {
      startReconcile: () => {
        active.inc({ controller })
        const observe = times.startTimer({ controller })
        return (result) => {
          active.dec({ controller })
          observe()
          total.inc({ controller, result })
          if (result === 'error') errors.inc({ controller })
        }
      },
      countTerminalError: () => terminal.inc({ controller }),
      countTimeout: () => timeouts.inc({ controller }),
    }
  }
}

const createReflectorMetrics = (make: Make): KubeMetrics['reflector'] => {
  const lists = make.counter('reflector_lists_total', 'Full lists of a cache.', ['name'])
  const watches = make.counter('reflector_watches_total', 'Watches begun by a cache.', ['name'])
  const events = make.counter('reflector_watch_events_total', 'Events and bookmarks that a cache received.', ['name'])
  const ages = new Map<string, () => number>()
  make.observed(
    'reflector_silence_seconds',
    'Seconds since a cache last received data from the API server.',
    ['name'],
    ages,
  )
  return (name, silentMs) => {
    ages.set(name, () => silentMs() / 1000)
    return {
      countList: () => lists.inc({ name }),
      countWatch: () => watches.inc({ name }),
      countEvent: () => events.inc({ name }),
    }
  }
}

const createElectionMetrics = (make: Make): KubeMetrics['election'] => {
  const help = '1 while this process holds the lease, else 0.'
  const status = make.gauge('leader_election_master_status', help, ['name'])
  return (name) => ({ setLeading: (isLeading) => status.set({ name }, isLeading ? 1 : 0) })
}

const createEventMetrics = (make: Make): EventMetrics => {
  const written = make.counter('events_written_total', 'Events and changes of their series that were written.', [])
  const dropped = make.counter('events_dropped_total', 'Events that were dropped; nothing else depends on them.', [])
  return { countWritten: () => written.inc(), countDropped: () => dropped.inc() }
}
