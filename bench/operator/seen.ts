import { systemClock } from '#shared/clock.ts'
import { createClient, type Resource } from '#shared/kube/client.ts'
import { silentLog } from '#shared/kube/log.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import { createReflector } from '#shared/kube/reflector.ts'
import type { Transport } from '#shared/kube/transport.ts'

type Seen = KubeObject & { status?: { phase?: string; conditions?: { type: string; status: string }[] } }

const firstListMs = 120_000
const pollMs = 20

/** Follows the objects of a namespace: when each was first there, and when first Ready, by this process's clock. */
export const watchNamespace = async (transport: Transport, resource: Resource, namespace: string) => {
  const stop = new AbortController()
  const made = new Map<string, number>()
  const ready = new Map<string, number>()
  const client = createClient<Seen>(transport, resource)
  const cache = createReflector({ client, clock: systemClock, random: Math.random, log: silentLog, namespace })
  cache.onChange(({ type, object }) => {
    const { name } = object.metadata
    if (type === 'deleted') return
    if (!made.has(name)) made.set(name, performance.now())
    const isReady = object.status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True')
    if (isReady && !ready.has(name)) ready.set(name, performance.now())
  })
  const running = cache.run(stop.signal)
  await cache.synced({ timeoutMs: firstListMs })
  return {
    made,
    ready,
    /** Returns the number of objects that exist now. */
    count: (): number => cache.store.size,
    /** Waits until so many were Ready; an error after the time. */
    untilReady: async (count: number, timeoutMs: number): Promise<void> => {
      const deadlineMs = performance.now() + timeoutMs
      while (ready.size < count) {
        if (performance.now() > deadlineMs) throw new Error(`${ready.size} of ${count} were Ready in ${timeoutMs} ms`)
        await new Promise((resolve) => systemClock.setTimeout(() => resolve(undefined), pollMs))
      }
    },
    stop: async (): Promise<void> => {
      stop.abort()
      await running
    },
  }
}
