import { systemClock } from '#shared/clock.ts'
import { createClient, type Resource } from '#shared/kube/client.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import { createReflector } from '#shared/kube/reflector.ts'
import type { Transport } from '#shared/kube/transport.ts'

const limitMs = 120_000
const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }

type Seen = KubeObject & {
  spec?: { state?: string }
  status?: { conditions?: { type: string; status: string }[] }
}

/** The first times at which objects had a property, by name, by this process's clock. */
export type Moments = {
  /** Resolves with the times when there is one for each of these names. Rejects after two minutes. */
  all(names: readonly string[]): Promise<ReadonlyMap<string, number>>
}

/** Watches all objects of a kind. Records when each first existed, was to run, had a status and was Ready. */
export const watchReady = async (transport: Transport, resource: Resource) => {
  const stop = new AbortController()
  const made = createMoments('existed')
  const wanted = createMoments('were to run')
  const reported = createMoments('had a status')
  const ready = createMoments('were Ready')
  const cache = createReflector<Seen>({
    client: createClient<Seen>(transport, resource),
    clock: systemClock,
    random: Math.random,
    log: quiet,
  })
  cache.onChange(({ type, object }) => {
    const { name } = object.metadata
    if (type === 'deleted') return
    made.note(name)
    if (object.spec?.state === 'Running') wanted.note(name)
    if (object.status !== undefined) reported.note(name)
    if (object.status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True')) ready.note(name)
  })
  const running = cache.run(stop.signal)
  await cache.synced({ timeoutMs: limitMs })
  const moments: Record<'made' | 'wanted' | 'reported' | 'ready', Moments> = { made, wanted, reported, ready }
  return {
    ...moments,
    stop: async (): Promise<void> => {
      stop.abort()
      await running
    },
  }
}

const createMoments = (what: string): Moments & { note(name: string): void } => {
  const times = new Map<string, number>()
  const waiting = new Set<{ readonly left: Set<string>; readonly done: () => void }>()
  return {
    note: (name) => {
      if (times.has(name)) return
      times.set(name, performance.now())
      for (const { left, done } of waiting) if (left.delete(name) && left.size === 0) done()
    },
    all: async (names) => {
      const left = new Set(names.filter((name) => !times.has(name)))
      if (left.size === 0) return times
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const timer = setTimeout(
        () => reject(new Error(`${names.length - left.size} of ${names.length} ${what} in time`)),
        limitMs,
      )
      const waiter = { left, done: resolve }
      waiting.add(waiter)
      await promise
      waiting.delete(waiter)
      clearTimeout(timer)
      return times
    },
  }
}
