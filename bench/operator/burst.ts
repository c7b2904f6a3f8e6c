import * as z from 'zod'
import { networkingStrategies } from '#shared/enumerations.ts'
import { labels, worldResource } from '#shared/resources/group.ts'
import { podResource } from '../barePod.ts'
import { quantile } from '../report.ts'
import { makeBarePods, rate } from './bare.ts'
import { gatewaySettings, openGateway } from './gateway.ts'
import { worldName } from './objects.ts'
import type { Bench, Part } from './part.ts'
import { watchNamespace } from './seen.ts'
import { describeRequests } from './usage.ts'

const namespace = 'bench-burst'
const untilReadyMs = 600_000
/** The networking strategy of the worlds. Default means the address of the pod. */
const strategy = z.enum(networkingStrategies).parse(process.env.ORRERY_BENCH_STRATEGY ?? 'Default')
const spec = { networking: { strategy } }
const settings: Record<string, string> = strategy === 'Route' ? gatewaySettings : {}
const labelsOfNamespace: Record<string, string> = strategy === 'HostPort' ? { [labels.hostPorts]: 'true' } : {}

/**
 * Measures many worlds that start at once, compared with as many bare pods before and after, and then an operator that
 * finds as many started worlds.
 */
export const burst: Part = async (bench) => {
  const { transport, objects, startOperator, say, count } = bench
  const worlds = count('ORRERY_BENCH_BURST_WORLDS', 1_000)
  const gateway = strategy === 'Route' ? await openGateway(transport) : undefined
  const operator = await startOperator('burst', settings)
  await objects.namespace(namespace, labelsOfNamespace)
  await objects.stoppedWorlds(namespace, worlds)
  const [pods, live] = [
    await watchNamespace(transport, podResource, namespace),
    await watchNamespace(transport, worldResource, namespace),
  ]
  const before = await makeBarePods(transport, objects, worlds)
  const start = await operator.usage()
  const startedMs = performance.now()
  const appliedMs = await objects.startWorlds(namespace, worlds, 0, spec)
  await live.untilReady(worlds, untilReadyMs)
  const end = await operator.usage()
  const after = await makeBarePods(transport, objects, worlds)

  const names = Array.from({ length: worlds }, (_, at) => worldName(at))
  const madeMs = names.map((name) => (pods.made.get(name) ?? 0) - startedMs)
  const waits = names.map((name) => Math.max(0, (pods.made.get(name) ?? 0) - (appliedMs.get(name) ?? 0)))
  const activeMs = names.map((name) => (live.ready.get(name) ?? 0) - startedMs)
  const appliesMs = names.map((name) => (appliedMs.get(name) ?? 0) - startedMs)
  const bare = (before.podsPerSecond + after.podsPerSecond) / 2
  const own = rate(madeMs)
  say(`${worlds} worlds started at once (${strategy})`)
  say('World applied → pod made, ms', `p50 ${ms(waits, 0.5)}, p99 ${ms(waits, 0.99)}`)
  say('first apply → pod made, ms', `p50 ${ms(madeMs, 0.5)}, p99 ${ms(madeMs, 0.99)}; applies took ${ms(appliesMs, 1)}`)
  say('first apply → Active, ms', `p50 ${ms(activeMs, 0.5)}, p99 ${ms(activeMs, 0.99)}, last ${ms(activeMs, 1)}`)
  const readyMs = names.map((name) => Math.max(0, (live.ready.get(name) ?? 0) - (appliedMs.get(name) ?? 0)))
  say('World applied → Active, ms', `p50 ${ms(readyMs, 0.5)}, p99 ${ms(readyMs, 0.99)}`)
  const rounds = `bare ${before.podsPerSecond.toFixed(0)} before, ${after.podsPerSecond.toFixed(0)} after`
  say('pods a second', `${own.toFixed(0)}; ${rounds}: ${(own / bare).toFixed(2)} of bare`, own / bare >= 0.6, '>= 0.6')
  const active = rate(activeMs)
  const bareReady = (before.readyPerSecond + after.readyPerSecond) / 2
  say(
    'Active a second',
    `${active.toFixed(0)}; bare pods Ready ${bareReady.toFixed(0)}: ${(active / bareReady).toFixed(2)} of bare`,
  )
  const writes = (end.writes - start.writes) / worlds
  say('writes a world, start → Active', writes.toFixed(2), writes <= 3, '<= 3')
  say('requests a world', describeRequests(start, end, worlds))
  say('operator', `${(end.cpuSeconds - start.cpuSeconds).toFixed(1)} CPU s, ${end.rssMiB} MiB`)
  await pods.stop()
  await live.stop()
  await operator.stop()
  // The worlds of the burst hold the host ports of the only node.
  if (strategy !== 'HostPort') await foundStarted(bench, worlds, bare)
  await gateway?.stop()
}

/** Measures an operator that starts after all worlds were applied, so that it alone limits the rate of new pods. */
const foundStarted = async ({ transport, objects, startOperator, say }: Bench, worlds: number, bare: number) => {
  const found = `${namespace}-found`
  await objects.namespace(found, labelsOfNamespace)
  await objects.startWorlds(found, worlds, 0, spec)
  const [pods, live] = [
    await watchNamespace(transport, podResource, found),
    await watchNamespace(transport, worldResource, found),
  ]
  const operator = await startOperator('burst-found', settings)
  await live.untilReady(worlds, untilReadyMs)
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
