import { systemClock } from '#shared/clock.ts'
import { worldResource } from '#shared/resources/group.ts'
import { podResource } from '../barePod.ts'
import { quantile } from '../report.ts'
import type { Bench, Part } from './part.ts'
import { watchNamespace } from './seen.ts'
import { describeRequests } from './usage.ts'

const namespace = 'bench-deletion'
const limitMs = 600_000
const pollMs = 20

/** Measures how long the pods of worlds live after the worlds are deleted at once, with and without an operator. */
export const deletion: Part = async (bench) => {
  const worlds = bench.count('ORRERY_BENCH_DELETED_WORLDS', 300)
  bench.say(`${worlds} worlds deleted at once`)
  const own = await deleteWorlds(bench, `${namespace}-operator`, worlds, true)
  const collected = await deleteWorlds(bench, `${namespace}-collector`, worlds, false)
  bench.say('first delete → last pod gone, ms', `${own.toFixed(0)}; garbage collector alone ${collected.toFixed(0)}`)
}

/** Returns the milliseconds from the first deletion of a World until no pod is left. */
const deleteWorlds = async (
  { transport, objects, startOperator, say }: Bench,
  place: string,
  worlds: number,
  withOperator: boolean,
): Promise<number> => {
  await objects.namespace(place)
  const operator = await startOperator(place)
  const live = await watchNamespace(transport, worldResource, place)
  await objects.startWorlds(place, worlds)
  await live.untilReady(worlds, limitMs)
  await live.stop()
  if (!withOperator) await operator.stop()
  const pods = await watchNamespace(transport, podResource, place)
  const start = withOperator ? await operator.usage() : undefined
  const startedMs = performance.now()
  await objects.removeWorlds(place, worlds)
  say('first delete → last World deleted, ms', (performance.now() - startedMs).toFixed(0))
  while (pods.count() > 0) {
    if (performance.now() - startedMs > limitMs) throw new Error(`${pods.count()} pods were left after ${limitMs} ms`)
    await new Promise((resolve) => systemClock.setTimeout(() => resolve(undefined), pollMs))
  }
  const tookMs = performance.now() - startedMs
  const leftMs = [...pods.leaving.values()].map((ms) => ms - startedMs)
  const how = withOperator ? 'by the operator' : 'by the garbage collector'
  say(`pods deleted ${how}, ms`, `p50 ${quantile(leftMs, 0.5).toFixed(0)}, last ${quantile(leftMs, 1).toFixed(0)}`)
  if (start !== undefined) say('requests a world', describeRequests(start, await operator.usage(), worlds))
  await pods.stop()
  if (withOperator) await operator.stop()
  return tookMs
}
