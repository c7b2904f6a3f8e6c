import { onTestFinished, vi } from 'vitest'
import { type Clock, systemClock } from '#shared/clock.ts'
import { createClient } from '../client.ts'
import { silentLog } from '../log.ts'
import { createReflector, type ReflectorTiming } from '../reflector.ts'
import { createTransport } from '../transport.ts'
import { type Answer, startScriptedServer } from './scriptedServer.ts'
import { type Thing, things } from './things.ts'

type Setup = {
  lists?: Answer[]
  watches?: Answer[]
  clock?: Clock
  timing?: Partial<ReflectorTiming>
  namespace?: string
  labelSelector?: string
  isOptional?: boolean
  keep?: (thing: Thing) => Thing
}

/** Starts a cache of a scripted server, with backoffs of a few milliseconds. */
export const startReflector = async ({
  lists = [],
  watches = [],
  clock = systemClock,
  timing = {},
  ...selection
}: Setup) => {
  const server = await startScriptedServer({ lists, watches })
  const transport = createTransport({ credentials: server.credentials, userAgent: 'tests', random: () => 0 })
  const warnings: { delayMs?: number; err?: { message: string } }[] = []
  const cache = createReflector({
    client: createClient<Thing>(transport, things),
    clock,
    random: () => 0,
    log: { ...silentLog, warn: (fields) => warnings.push(fields), error: (fields) => warnings.push(fields) },
    timing: { firstBackoffMs: 1, maxBackoffMs: 4, ...timing },
    indexers: { owner: ({ metadata }) => (metadata.labels?.owner === undefined ? [] : [metadata.labels.owner]) },
    ...selection,
  })
  const changes: string[] = []
  cache.onChange(({ type, object, initial }) => {
    changes.push(`${initial ? 'list' : 'watch'}: ${type} ${object.metadata.name}@${object.metadata.resourceVersion}`)
  })
  const stop = new AbortController()
  const running = cache.run(stop.signal)
  onTestFinished(async () => {
    stop.abort()
    await running
    await transport.close()
    await server.close()
  })
  return { server, cache, changes, warnings, stop, running }
}

/** Waits until `look` no longer throws: at most a minute, for a busy machine. */
export const eventually = (look: () => void): Promise<void> => vi.waitFor(look, { timeout: 60_000, interval: 2 })

/** Returns the number of list requests and the start versions of the watches. */
export const requestsOf = (server: Awaited<ReturnType<typeof startReflector>>['server']) => ({
  lists: server.lists().length,
  watches: server.watches().map(({ query }) => query.resourceVersion),
})
