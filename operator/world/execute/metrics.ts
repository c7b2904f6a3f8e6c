import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Pod } from '#operator/pods/pod.ts'
import { worldPhases } from '#shared/enumerations.ts'
import type { EventInput, EventRecorder } from '#shared/kube/events.ts'
import type { World } from '#shared/resources/world.ts'
import { runEndReasons } from '#shared/why/endings.ts'
import { stageSeconds, startStages } from '../startStages.ts'

type Recorder = Pick<EventRecorder, 'record'>

/** The metrics of worlds. No label grows with the number of worlds. */
export type WorldMetrics = {
  /** Reads the worlds from this function at each scrape. */
  observeWorlds(list: () => readonly World[]): void
  /** Reads the pod of a world that became Ready from this function. */
  observePods(podOf: (world: World) => Pod | undefined): void
  /** Returns a recorder that also counts what the events of worlds report. */
  count(events: Recorder): Recorder
}

const startBuckets = [0.5, 1, 2, 3, 5, 7.5, 10, 15, 20, 30, 45, 60, 120, 300, 600]

/** Registers the metrics of worlds. Every replica shows the gauges; only the leader counts events. */
export const createWorldMetrics = (registry: Registry, now: () => number): WorldMetrics => {
  const registers = [registry]
  let list: () => readonly World[] = () => []
  let podOf: (world: World) => Pod | undefined = () => undefined
  new Gauge({
    name: 'orrery_worlds',
    help: 'Worlds by phase.',
    labelNames: ['phase'],
    registers,
    collect() {
      const counts = new Map<string, number>(worldPhases.map((phase) => [phase, 0]))
      for (const { status } of list()) {
        const phase = status?.phase ?? 'Inactive'
        counts.set(phase, (counts.get(phase) ?? 0) + 1)
      }
      for (const [phase, count] of counts) this.set({ phase }, count)
    },
  })
  new Gauge({
    name: 'orrery_players',
    help: 'Players by queue state, as servers report them.',
    labelNames: ['state'],
    registers,
    collect() {
      const queues = list().map(({ status }) => status?.queue)
      for (const state of ['active', 'queued'] as const) {
        this.set(
          { state },
          queues.reduce((sum, queue) => sum + (queue?.[state] ?? 0), 0),
        )
      }
    },
  })
  const starts = new Histogram({
    name: 'orrery_world_start_seconds',
    help: 'Seconds from the start of a run until its server is Ready for the first time.',
    buckets: startBuckets,
    registers,
  })
  const stages = new Histogram({
    name: 'orrery_world_start_stage_seconds',
    help: 'Seconds of each stage of a start: until the pod has a node, its container runs, it is Ready, and its address is known.',
    labelNames: ['stage'],
    buckets: startBuckets,
    registers,
  })
  for (const stage of startStages) stages.zero({ stage })
  const restarts = new Counter({ name: 'orrery_world_restarts_total', help: 'Restarts of servers.', registers })
  const ended = new Counter({ name: 'orrery_runs_ended_total', help: 'Ended runs.', labelNames: ['reason'], registers })
  for (const reason of runEndReasons) ended.inc({ reason }, 0)

  const observe = (world: World, { reason }: EventInput): void => {
    const { run } = world.status ?? {}
    if (reason === 'Restarted') restarts.inc()
    if ((runEndReasons as readonly string[]).includes(reason)) ended.inc({ reason })
    if (reason === 'Ready' && run !== undefined && run.readyAt === undefined) {
      starts.observe(Math.max(0, (now() - Date.parse(run.startedAt)) / 1_000))
      const pod = podOf(world)
      if (pod !== undefined) {
        for (const { stage, seconds } of stageSeconds(run, pod, now())) stages.observe({ stage }, seconds)
      }
    }
  }
  return {
    observeWorlds: (read) => {
      list = read
    },
    observePods: (read) => {
      podOf = read
    },
    count: (events) => ({
      record: (object, event) => {
        observe(object as World, event)
        events.record(object, event)
      },
    }),
  }
}
