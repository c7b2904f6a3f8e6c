import { systemClock } from '#shared/clock.ts'
import { createClient, type Resource } from '#shared/kube/client.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import { createReflector } from '#shared/kube/reflector.ts'
import type { Transport } from '#shared/kube/transport.ts'

const limitMs = 120_000
const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }

type Seen = KubeObject & { status?: { conditions?: { type: string; status: string }[] } }

/** Watches objects by name. Records when each first existed, had a status and was Ready, by this process's clock. */
export const watchReady = async (transport: Transport, resource: Resource, names: readonly string[]) => {
  const stop = new AbortController()
  const wanted = new Set(names)
  const made = createMoments(wanted)
  const reported = createMoments(wanted)
  const ready = createMoments(wanted)
  const cache = createReflector<Seen>({
    client: createClient<Seen>(transport, resource),
    clock: systemClock,
    random: Math.random,
    log: quiet,
  })
  cache.onChange(({ type, object }) => {
    const { name } = object.metadata
    if (type === 'deleted' || !wanted.has(name)) return
    made.note(name)
    if (object.status !== undefined) reported.note(name)
    if (object.status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True')) ready.note(name)
  })
  const running = cache.run(stop.signal)
  await cache.synced({ timeoutMs: limitMs })
  return {
    made: made.times,
    /** Resolves when each has a status. Rejects after two minutes. */
    reported: () => reported.all('had a status'),
    /** Resolves with the time at which each became Ready, and ends the watch. Rejects after two minutes. */
    all: async (): Promise<Map<string, number>> => {
      const times = await ready.all('were Ready')
      stop.abort()
      await running
      return times
    },
  }
}

/** Creates a record of the first time at which something was seen of each name. */
const createMoments = (wanted: ReadonlySet<string>) => {
  const times = new Map<string, number>()
  const done = Promise.withResolvers<void>()
  return {
    times,
    note: (name: string): void => {
      if (times.has(name)) return
      times.set(name, performance.now())
      if (times.size === wanted.size) done.resolve()
    },
    all: async (what: string): Promise<Map<string, number>> => {
      const timer = setTimeout(() => done.reject(new Error(`${times.size} of ${wanted.size} ${what} in time`)), limitMs)
      await done.promise
      clearTimeout(timer)
      return times
    },
  }
}
