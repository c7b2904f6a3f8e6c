import { worldResource } from '#shared/resources/group.ts'
import { podResource } from '../barePod.ts'
import { quantile } from '../report.ts'
import { makeBarePods, rate } from './bare.ts'
import { worldName } from './objects.ts'
import type { Bench, Part } from './part.ts'
import { watchNamespace } from './seen.ts'

const namespace = 'bench-burst'
const readyMs = 600_000

/** Many worlds started at once, between two rounds of as many bare pods; then as many that an operator finds started. */
export const burst: Part = async (bench) => {
  const { transport, objects, startOperator, say, count } = bench
  const worlds = count('ORRERY_BENCH_BURST_WORLDS', 1_000)
  const operator = await startOperator('burst')
  await objects.namespace(namespace)
  await objects.stoppedWorlds(namespace, worlds)
  const [pods, live] = [
    await watchNamespace(transport, podResource, namespace),
    await watchNamespace(transport, worldResource, namespace),
  ]
  const before = await makeBarePods(transport, objects, worlds)
  const start = await operator.usage()
  const startedMs = performance.now()
  const appliedMs = await objects.startWorlds(namespace, worlds)
  await live.untilReady(worlds, readyMs)
  const end = await operator.usage()
  const after = await makeBarePods(transport, objects, worlds)

  const names = Array.from({ length: worlds }, (_, at) => worldName(at))
  const madeMs = names.map((name) => (pods.made.get(name) ?? 0) - startedMs)
  const waits = names.map((name) => Math.max(0, (pods.made.get(name) ?? 0) - (appliedMs.get(name) ?? 0)))
  const activeMs = names.map((name) => (live.ready.get(name) ?? 0) - startedMs)
  const appliesMs = names.map((name) => (appliedMs.get(name) ?? 0) - startedMs)
  const bare = (before.podsPerSecond + after.podsPerSecond) / 2
  const own = rate(madeMs)
  say(`${worlds} worlds started at once`)
  say('World applied → pod made, ms', `p50 ${ms(waits, 0.5)}, p99 ${ms(waits, 0.99)}`)
  say('first apply → pod made, ms', `p50 ${ms(madeMs, 0.5)}, p99 ${ms(madeMs, 0.99)}; applies took ${ms(appliesMs, 1)}`)
  say('first apply → Active, ms', `p50 ${ms(activeMs, 0.5)}, p99 ${ms(activeMs, 0.99)}, last ${ms(activeMs, 1)}`)
  const rounds = `bare ${before.podsPerSecond.toFixed(0)} before, ${after.podsPerSecond.toFixed(0)} after`
  say('pods a second', `${own.toFixed(0)}; ${rounds}: ${(own / bare).toFixed(2)} of bare`, own / bare >= 0.6, '>= 0.6')
  const active = rate(activeMs)
  const bareReady = (before.readyPerSecond + after.readyPerSecond) / 2
  say(
    'Active a second',
    `${active.toFixed(0)}; bare pods Ready ${bareReady.toFixed(0)}: ${(active / bareReady).toFixed(2)} of bare`,
  )
  const writes = (end.writes - start.writes) / worlds
  const events = ((end.events - start.events) / worlds).toFixed(2)
  say('writes a world, start → Active', `${writes.toFixed(2)}, and ${events} of events`, writes <= 3, '<= 3')
  say('operator', `${(end.cpuSeconds - start.cpuSeconds).toFixed(1)} CPU s, ${end.rssMiB} MiB`)
  await pods.stop()
  await live.stop()
  await operator.stop()
  await foundStarted(bench, worlds, bare)
}

/** Worlds whose applies are over when the operator comes: it alone makes their pods, as the client does the bare ones. */
const foundStarted = async ({ transport, objects, startOperator, say }: Bench, worlds: number, bare: number) => {
  const found = `${namespace}-found`
  await objects.namespace(found)
  await objects.startWorlds(found, worlds)
  const [pods, live] = [
    await watchNamespace(transport, podResource, found),
    await watchNamespace(transport, worldResource, found),
  ]
  const operator = await startOperator('burst-found')
  await live.untilReady(worlds, readyMs)
  const made = [...pods.made.values()]
  const startedMs = Math.min(...made)
  const own = rate(made.map((ms) => ms - startedMs))
  say(`${worlds} worlds found started`)
  say('first pod → last pod, pods a second', `${own.toFixed(0)}: ${(own / bare).toFixed(2)} of bare`)
  await pods.stop()
  await live.stop()
  await operator.stop()
}

const ms = (values: readonly number[], part: number): string => quantile(values, part).toFixed(0)
