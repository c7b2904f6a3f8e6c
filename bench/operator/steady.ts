import { worldResource } from '#shared/resources/group.ts'
import { podResource } from '../barePod.ts'
import { actAtRate } from '../rate.ts'
import { quantile } from '../report.ts'
import type { Part } from './part.ts'
import { watchNamespace } from './seen.ts'
import { describeRequests } from './usage.ts'

const namespace = 'bench-steady'
const perSecond = 20
const untilReadyMs = 120_000

/** Measures worlds that are created at a rate that the cluster can sustain. */
export const steady: Part = async ({ transport, objects, startOperator, say, count }) => {
  const worlds = count('ORRERY_BENCH_STEADY_WORLDS', 400)
  const operator = await startOperator('steady')
  await objects.namespace(namespace)
  const pods = await watchNamespace(transport, podResource, namespace)
  const live = await watchNamespace(transport, worldResource, namespace)
  const start = await operator.usage()
  const appliedMs = new Map<string, number>()
  await actAtRate({ count: worlds, perSecond }, async (at) => {
    for (const [name, ms] of await objects.startWorlds(namespace, 1, at)) appliedMs.set(name, ms)
  })
  await live.untilReady(worlds, untilReadyMs)
  const end = await operator.usage()
  const since = (seen: ReadonlyMap<string, number>): string => {
    const waits = [...appliedMs].map(([name, ms]) => Math.max(0, (seen.get(name) ?? 0) - ms))
    return `p50 ${quantile(waits, 0.5).toFixed(1)}, p99 ${quantile(waits, 0.99).toFixed(1)}`
  }
  say(`${worlds} worlds at ${perSecond} a second`)
  say('World applied → pod made, ms', since(pods.made))
  say('World applied → Active, ms', since(live.ready))
  say('requests a world', describeRequests(start, end, worlds))
  await pods.stop()
  await live.stop()
  await objects.removeWorlds(namespace, worlds)
  await operator.stop()
}
