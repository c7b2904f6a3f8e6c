import { sleep, systemClock } from '#shared/clock.ts'
import { createClient } from '#shared/kube/client.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import type { Transport } from '#shared/kube/transport.ts'
import { podResource } from '../barePod.ts'
import { rate } from '../operator/bare.ts'
import { forAll } from '../operator/objects.ts'
import { watchNamespace } from '../operator/seen.ts'
import { totalCpu } from '../processCpu.ts'
import { actAtRate } from '../rate.ts'
import { quantile } from '../report.ts'
import { readServerMetrics, sumMetric } from '../serverMetrics.ts'
import { measureMachine } from './machine.ts'
import { type Controller, namespace, type Subject } from './subject.ts'
import type { Figures } from './table.ts'

const limitMs = 240_000
const pollMs = 10
const sampleMs = 2_000
/** CPU seconds per sample below which the controller and the API server count as calm. */
const calmCpuSeconds = 0.5
const settleSamples = 15
const restSamples = 30
const restSampleMs = 5_000
/** A controller renews its lease every 2 s or less often, and writes nothing else at rest. */
const restWrites = 3

/** A subject with its running controller. */
export type Run = { readonly transport: Transport; readonly subject: Subject; readonly controller: Controller }

/** The objects to create: their indexes, and the rate per second, or all at once with 32 requests at a time. */
export type Load = { readonly from: number; readonly count: number; readonly perSecond?: number }

/** Creates objects, waits until each has a pod and is Ready, and deletes them. `rest` runs before the deletion. */
export const measureLoad = async (run: Run, load: Load, rest: () => Promise<Figures>): Promise<Figures> => {
  const { transport, subject } = run
  const machine = measureMachine()
  const names = Array.from({ length: load.count }, (_, at) => subject.nameOf(load.from + at))
  const pods = await watchNamespace(transport, podResource, namespace)
  const objects =
    subject.resource === podResource
      ? pods
      : await watchNamespace(transport, subject.resource, namespace, subject.isReady)
  const start = await readUsage(run)
  const { sentMs, answeredMs } = await createAll(run, names, load)
  await pods.untilMade(load.count, limitMs)
  await objects.untilReady(load.count, limitMs)
  const end = await readUsage(run)
  await settle(run)
  const settled = await readUsage(run)
  const idle = await rest()
  const deletion = await deleteAll(run, names, [pods, objects])
  await pods.stop()
  if (objects !== pods) await objects.stop()

  const firstMs = Math.min(...sentMs.values())
  const since = (times: ReadonlyMap<string, number>, from: (name: string) => number): number[] =>
    names.map((name) => Math.max(0, (times.get(name) ?? 0) - from(name)))
  const podMs = since(pods.made, (name) => answeredMs.get(name) ?? 0)
  const readyMs = since(objects.ready, (name) => sentMs.get(name) ?? 0)
  return {
    creates: rate(since(answeredMs, () => firstMs)),
    pods: rate(since(pods.made, () => firstMs)),
    // A bare pod is its own object.
    ...(objects === pods ? {} : { podP50: quantile(podMs, 0.5), podP99: quantile(podMs, 0.99) }),
    readyP50: quantile(readyMs, 0.5),
    readyP99: quantile(readyMs, 0.99),
    ...deletion,
    ...(objects === pods ? {} : controllerFigures(start, end, settled, load.count)),
    apiServerCpu: end.apiServerCpu - start.apiServerCpu,
    totalCpu: end.totalCpu - start.totalCpu,
    clientCpu: end.clientCpu - start.clientCpu,
    clientLoop: performance.eventLoopUtilization(end.clientLoop, start.clientLoop).utilization,
    load: machine.load,
    speed: machine.hashMiBPerSecond,
    ...idle,
  }
}

/**
 * Measures the CPU of the controller while nothing changes, once it has stopped to write: in the first minute, in which a runtime
 * collects the garbage of the load, and in the next one.
 */
export const measureIdle = async ({ controller }: Run, idleMs: number): Promise<Figures> => {
  let { writes } = await controller.usage()
  for (let sample = 0; sample < restSamples; sample += 1) {
    await sleep(systemClock, restSampleMs)
    const now = (await controller.usage()).writes
    if (now - writes <= restWrites) break
    writes = now
  }
  const perMinute = async (): Promise<number> => {
    const start = await controller.usage()
    await sleep(systemClock, idleMs)
    const end = await controller.usage()
    return ((end.cpuSeconds - start.cpuSeconds) * 60_000) / idleMs
  }
  return { restCpu: await perMinute(), idleCpu: await perMinute() }
}

type Usage = Awaited<ReturnType<typeof readUsage>>

const controllerFigures = (start: Usage, end: Usage, settled: Usage, count: number): Figures => {
  const leases = settled.leaseWrites - start.leaseWrites
  return {
    writes: Math.max(0, settled.controller.writes - start.controller.writes - leases) / count,
    controllerCpu: end.controller.cpuSeconds - start.controller.cpuSeconds,
    rssMiB: settled.controller.rssMiB,
  }
}

const readUsage = async ({ transport, controller }: Run) => {
  const metrics = await readServerMetrics(transport)
  const { user, system } = process.cpuUsage()
  return {
    controller: await controller.usage(),
    apiServerCpu: sumMetric(metrics, 'process_cpu_seconds_total'),
    /** Writes of leases by all clients. */
    leaseWrites: sumMetric(metrics, 'apiserver_request_total', /resource="leases".*verb="(POST|PUT|PATCH)"/),
    totalCpu: totalCpu(),
    clientCpu: (user + system) / 1e6,
    clientLoop: performance.eventLoopUtilization(),
  }
}

const createAll = async ({ transport, subject }: Run, names: readonly string[], { perSecond }: Load) => {
  const client = createClient<KubeObject>(transport, subject.resource)
  const sentMs = new Map<string, number>()
  const answeredMs = new Map<string, number>()
  const create = async (name: string): Promise<void> => {
    sentMs.set(name, performance.now())
    await client.create(subject.body(name), { fieldManager: 'orrery-bench' })
    answeredMs.set(name, performance.now())
  }
  if (perSecond === undefined) await forAll(names, create)
  else await actAtRate({ count: names.length, perSecond }, (at) => create(names[at] ?? ''))
  return { sentMs, answeredMs }
}

/** Deletes the objects, and measures until no pod is left. Then waits until no object is left. */
const deleteAll = async (
  run: Run,
  names: readonly string[],
  [pods, objects]: readonly [{ count(): number }, { count(): number }],
): Promise<Figures> => {
  const client = createClient<KubeObject>(run.transport, run.subject.resource)
  const start = await readUsage(run)
  const startedMs = performance.now()
  await forAll(names, (name) => client.delete({ namespace, name }))
  await untilEmpty(pods, startedMs)
  const goneMs = performance.now() - startedMs
  const end = await readUsage(run)
  await untilEmpty(objects, startedMs)
  return {
    goneSeconds: goneMs / 1_000,
    goneTotalCpu: end.totalCpu - start.totalCpu,
    goneApiServerCpu: end.apiServerCpu - start.apiServerCpu,
    ...(objects === pods ? {} : { goneControllerCpu: end.controller.cpuSeconds - start.controller.cpuSeconds }),
  }
}

const untilEmpty = async (seen: { count(): number }, startedMs: number): Promise<void> => {
  while (seen.count() > 0) {
    if (performance.now() - startedMs > limitMs) throw new Error(`${seen.count()} were left after ${limitMs} ms`)
    await sleep(systemClock, pollMs)
  }
}

/** Waits until the controller and the API server have little to do. */
const settle = async (run: Run): Promise<void> => {
  const cpu = ({ controller, apiServerCpu }: Usage): number => controller.cpuSeconds + apiServerCpu
  let last = cpu(await readUsage(run))
  for (let sample = 0; sample < settleSamples; sample += 1) {
    await sleep(systemClock, sampleMs)
    const now = cpu(await readUsage(run))
    if (now - last < calmCpuSeconds) return
    last = now
  }
}
