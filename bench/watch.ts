import { systemClock } from '#shared/clock.ts'
import { createClient, type Resource } from '#shared/kube/client.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import { createReflector } from '#shared/kube/reflector.ts'
import type { Transport } from '#shared/kube/transport.ts'

const limitMs = 120_000
const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }

type Seen = KubeObject & { status?: { conditions?: { type: string; status: string }[] } }

/** Watches objects by name. Records when each was first seen and when it was first Ready, by this process's clock. */
export const watchReady = async (transport: Transport, resource: Resource, names: readonly string[]) => {
  const stop = new AbortController()
  const wanted = new Set(names)
  const made = new Map<string, number>()
  const ready = new Map<string, number>()
  const done = Promise.withResolvers<void>()
  const cache = createReflector<Seen>({
    client: createClient<Seen>(transport, resource),
    clock: systemClock,
    random: Math.random,
    log: quiet,
  })
  cache.onChange(({ type, object }) => {
    const { name } = object.metadata
    if (type === 'deleted' || !wanted.has(name)) return
    if (!made.has(name)) made.set(name, performance.now())
    const isReady = object.status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True')
    if (!isReady || ready.has(name)) return
    ready.set(name, performance.now())
    if (ready.size === wanted.size) done.resolve()
  })
  const running = cache.run(stop.signal)
  await cache.synced({ timeoutMs: limitMs })
  return {
    made,
    /** Resolves with the time at which each became Ready. Rejects after two minutes. */
    all: async (): Promise<Map<string, number>> => {
      const timer = setTimeout(
        () => done.reject(new Error(`${ready.size} of ${wanted.size} were Ready in time`)),
        limitMs,
      )
      await done.promise
      clearTimeout(timer)
      stop.abort()
      await running
      return ready
    },
  }
}
