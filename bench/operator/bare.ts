import type { Transport } from '#shared/kube/transport.ts'
import { podResource } from '../barePod.ts'
import type { Objects } from './objects.ts'
import { watchNamespace } from './seen.ts'

const namespace = 'bench-bare'
const readyMs = 600_000
let round = 0

/**
 * Creates bare pods all at once with the same client, and waits until all are Ready. Returns the creation time of each
 * in milliseconds from the start, and the rates per second.
 */
export const makeBarePods = async (transport: Transport, objects: Objects, count: number) => {
  await objects.namespace(namespace)
  round += 1
  const seen = await watchNamespace(transport, podResource, namespace)
  const startedMs = performance.now()
  const names = await objects.barePods(namespace, `bare-${round}`, count)
  await seen.untilReady(count, readyMs)
  await seen.stop()
  const madeMs = names.map((name) => (seen.made.get(name) ?? 0) - startedMs)
  await objects.removePods(namespace, names)
  return {
    madeMs,
    podsPerSecond: rate(madeMs),
    readyPerSecond: rate([...seen.ready.values()].map((ms) => ms - startedMs)),
  }
}

/** Returns the rate per second: the number of times, divided by the last one. */
export const rate = (timesMs: readonly number[]): number =>
  timesMs.length / (timesMs.reduce((last, ms) => Math.max(last, ms), 0) / 1000)
