import { systemClock } from '#shared/clock.ts'
import { createClient, type Resource } from '#shared/kube/client.ts'
import { silentLog } from '#shared/kube/log.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import { createReflector } from '#shared/kube/reflector.ts'
import type { Transport } from '#shared/kube/transport.ts'

/** An object with the parts of its status that show its progress. */
export type Seen = KubeObject & {
  status?: { phase?: string; state?: string; conditions?: { type: string; status: string }[] }
}

const firstListMs = 120_000
const pollMs = 20

/**
 * Watches the objects of a namespace. Records when each was first seen, was first Ready, and began to be deleted, by this
 * process's clock.
 */
export const watchNamespace = async (
  transport: Transport,
  resource: Resource,
  namespace: string,
  isReady: (object: Seen) => boolean = hasReadyCondition,
) => {
  const stop = new AbortController()
  const made = new Map<string, number>()
  const ready = new Map<string, number>()
  const leaving = new Map<string, number>()
  const client = createClient<Seen>(transport, resource)
  const cache = createReflector({ client, clock: systemClock, random: Math.random, log: silentLog, namespace })
  cache.onChange(({ type, object }) => {
    const { name, deletionTimestamp } = object.metadata
    if ((type === 'deleted' || deletionTimestamp !== undefined) && !leaving.has(name))
      leaving.set(name, performance.now())
    if (type === 'deleted') return
    if (!made.has(name)) made.set(name, performance.now())
    if (!ready.has(name) && isReady(object)) ready.set(name, performance.now())
  })
  const running = cache.run(stop.signal)
  await cache.synced({ timeoutMs: firstListMs })
  return {
    made,
    ready,
    leaving,
    /** Returns the number of objects that exist now. */
    count: (): number => cache.store.size,
    /** Waits until `count` objects were seen. Throws after the timeout. */
    untilMade: (count: number, timeoutMs: number): Promise<void> => untilSize(made, count, timeoutMs),
    /** Waits until `count` objects were Ready. Throws after the timeout. */
    untilReady: (count: number, timeoutMs: number): Promise<void> => untilSize(ready, count, timeoutMs),
    stop: async (): Promise<void> => {
      stop.abort()
      await running
    },
  }
}

/** Reports whether the object has the condition Ready with the status True. */
export const hasReadyCondition = ({ status }: Seen): boolean =>
  status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True') ?? false

const untilSize = async (seen: ReadonlyMap<string, number>, count: number, timeoutMs: number): Promise<void> => {
  const deadlineMs = performance.now() + timeoutMs
  while (seen.size < count) {
    if (performance.now() > deadlineMs) throw new Error(`${seen.size} of ${count} were seen in ${timeoutMs} ms`)
    await new Promise((resolve) => systemClock.setTimeout(() => resolve(undefined), pollMs))
  }
}
