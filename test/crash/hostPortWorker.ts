import { setTimeout as delay } from 'node:timers/promises'
import { labels } from '#shared/resources/group.ts'
import { createFaultProxy, effective } from '#test/support/faultProxy.ts'
import { busy, metricOf, readMetric } from '#test/support/metrics.ts'
import { startOperator } from '#test/support/processes.ts'
import { getServers } from '#test/support/servers.ts'
import {
  createHostPortFixture,
  type HostPortFixture,
  hostPortsFrom,
  nameOfWorld,
  worldCount,
} from './hostPortFixture.ts'
import type { Run, Trigger, Workload } from './runner.ts'
import { startSimulator } from './simulator.ts'
import { until } from './until.ts'

/** Shorter than in production, and long enough that a leader on a busy machine keeps its lease. */
const lease = {
  ORRERY_LEASE_DURATION_MS: '4000',
  ORRERY_LEASE_RENEW_DEADLINE_MS: '3000',
  ORRERY_LEASE_RETRY_MS: '300',
}
/** The time between the response and a suspension after it. */
const answeredMs = 5
const quietMs = 1_000
const portsOfWorker = 100

/** The worlds at whose writes an operator is suspended, evenly spread, with the first. */
const suspendedWorlds = Number(process.env.ORRERY_CRASH_WORLDS ?? 3)
const planned = Array.from({ length: suspendedWorlds }, (_, at) =>
  nameOfWorld(1 + Math.floor((at * worldCount) / suspendedWorlds)),
)

type Place = { readonly project: string; readonly range: ReturnType<typeof hostPortsFrom>; readonly cacheDir: string }

/** Starts an operator behind a proxy of its own. It sees only the objects of the project. */
const anOperator = async (identity: string, { project, range, cacheDir }: Place) => {
  const proxy = await createFaultProxy({
    kubeconfig: getServers().operatorKubeconfig,
    labelSelector: `${labels.project}=${project}`,
  })
  const operator = await startOperator({
    ...lease,
    KUBECONFIG: proxy.kubeconfig,
    ORRERY_LEASE_NAMESPACE: project,
    ORRERY_LEASE_IDENTITY: identity,
    ORRERY_HOST_PORTS: `default=${range.first}-${range.last}`,
    NODE_COMPILE_CACHE: cacheDir,
  })
  const hasLease = async () =>
    (await readMetric(`${operator.url}/metrics`, 'leader_election_master_status{name="orrery-operator"}')) === 1
  return {
    ...operator,
    proxy,
    leads: () => until(`the ${identity} operator leads`, hasLease),
    rests: async (): Promise<boolean> => {
      const lastMs = proxy.writes().at(-1)?.atMs ?? 0
      return performance.now() > lastMs + quietMs && (await metricOf(`${operator.url}/metrics`, ...busy)) === 0
    },
    remove: async (): Promise<void> => {
      operator.signal('SIGKILL')
      await operator.exited
      await proxy.remove()
    },
  }
}

/** Starts two operators, of which the first leads. */
const startPair = async (place: Place) => {
  const first = await anOperator('first', place)
  await first.leads()
  const started = [first, await anOperator('second', place)]
  const wrong: string[] = []
  let [leader, standby] = [first, started[1] ?? first]
  let changed: Promise<void> | undefined
  const suspend = async (): Promise<void> => {
    first.signal('SIGSTOP')
    await standby.leads()
    first.signal('SIGCONT')
  }
  /** Waits for the end of the first operator, and starts it again. */
  const change = async (suspending: Promise<void>): Promise<void> => {
    await suspending
    const resumedMs = performance.now()
    await until('the end of the suspended operator', async () => first.hasExited())
    const { code } = await first.exited
    if (code !== 1) wrong.push(`the suspended operator exited with ${code}`)
    const late = first.proxy.writes().filter(({ receivedMs }) => receivedMs > resumedMs)
    if (late.length > 0)
      wrong.push(`after it resumed, the operator wrote ${late.map(({ signature }) => signature).join(', ')}`)
    leader = standby
    standby = await anOperator('third', place)
    started.push(standby)
  }
  return {
    wrong,
    /** Returns the accepted writes of the first operator. */
    writes: () => effective(first.proxy.writes(place.project)),
    arm: ({ signature, point }: Trigger): void =>
      first.proxy.arm({
        namespace: place.project,
        signature,
        point: point === 'A' ? 'hold' : 'holdAnswer',
        act: async () => {
          const suspending = point === 'C' ? delay(answeredMs).then(suspend) : suspend()
          changed = change(suspending)
          // Awaited by `rest`.
          changed.catch(() => undefined)
          if (point !== 'C') await suspending
        },
      }),
    /** Waits until the leader, which may change meanwhile, has no work. Returns whether an operator was suspended. */
    rest: async (): Promise<boolean> => {
      await until('the leader rests', () => leader.rests())
      first.proxy.disarm()
      await changed
      await until('the leader rests', () => leader.rests())
      return changed !== undefined
    },
    /** Stops the leader. Returns the writes of the other operator, which knows only the objects of the cluster. */
    takeOver: async (): Promise<string[]> => {
      await leader.stop()
      await standby.leads()
      await until('the next leader rests', () => standby.rests())
      return standby.proxy.writes().map(({ signature }) => `${place.project}: ${signature}`)
    },
    remove: async (): Promise<void> => {
      await changed?.catch(() => undefined)
      await Promise.all(started.map(({ remove }) => remove()))
    },
  }
}

/**
 * Creates a worker whose runs each have two new operators. The fault at a point is not a kill: the leader is suspended until the
 * other one leads. It must then exit without a further write, and is started again. A write of point A arrives late.
 * Operators of other workers are strangers on the same nodes, with other ports.
 */
export const createHostPortWorker = async (number: number, cacheDir: string) => {
  const range = hostPortsFrom(7_000 + number * portsOfWorker)
  const lateWrites: string[] = []
  let runs = 0
  const runWorkload = async (workload: Workload<HostPortFixture>, trigger?: Trigger): Promise<Run> => {
    runs += 1
    const project = `host-ports-${process.pid}-${number}-${runs}`
    const simulator = startSimulator({ labelSelector: `${labels.project}=${project}`, binds: false })
    const fixture = await createHostPortFixture(simulator, project, range)
    await simulator.allowLeases(project)
    const pair = await startPair({ project, range, cacheDir })
    try {
      if (trigger !== undefined) pair.arm(trigger)
      await workload.run(fixture)
      const fired = await pair.rest()
      await fixture.allAreActive()
      lateWrites.push(...(await pair.takeOver()))
      const signatures = pair.writes().flatMap(({ name, signature }) => (planned.includes(name) ? signature : []))
      return {
        endState: await fixture.endState(),
        signatures: [signatures],
        commits: [],
        // How many servers are replaced depends on which ports are taken at a takeover.
        counts: '',
        violations: [...pair.wrong, ...(await fixture.violations())],
        fired,
      }
    } finally {
      await pair.remove()
      await fixture.clear()
      await simulator.stop()
    }
  }
  return {
    runWorkload,
    /** Returns the writes of the takeover at the end of each run. */
    resync: async (): Promise<string[]> => lateWrites,
    close: async (): Promise<void> => undefined,
  }
}
