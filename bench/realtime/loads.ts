import { setTimeout as delay } from 'node:timers/promises'
import { feedPauseMs } from '#api/realtime/feed.ts'
import { readMetrics, type Target } from '../api.ts'
import { actAtRate } from '../rate.ts'
import {
  createTally,
  documentCount,
  openWriters,
  type Place,
  readN,
  subscribeTo,
  text,
  type Writer,
} from './documents.ts'
import { type LoadSocket, openSockets } from './sockets.ts'
import { openRenames, readRenames, subscribeToWorlds } from './worlds.ts'

const path = '/api/realtime/connect/'
const patienceMs = 60_000

const closeAll = (sockets: readonly LoadSocket[]): void => {
  for (const socket of sockets) socket.end()
}

/** Opens sockets that each subscribe to one document, and waits until each has its snapshot. */
const follow = async (
  target: Target,
  place: Place,
  { count, document, heard }: { count: number; document: (at: number) => number; heard?: (update: Buffer) => void },
): Promise<LoadSocket[]> => {
  const tally = createTally()
  const opening = openSockets({
    url: target.url,
    path,
    headers: place.headers,
    count,
    heard: (_, update) => {
      tally.add()
      heard?.(update)
    },
    opened: ({ at, send }) => send(subscribeTo(document(at))),
  })
  const [sockets] = await Promise.all([opening, tally.reach(count, patienceMs)])
  return sockets
}

type FanOut = { readonly sockets: number; readonly seconds: number }
/** The number of updates to write before waiting until every socket has received them. */
const burst = 32

/** Measures deliveries per second of one document to all sockets. Every update reaches every socket. */
export const fanOut = async (target: Target, place: Place, { sockets: count, seconds }: FanOut): Promise<number> => {
  const tally = createTally()
  const sockets = await follow(target, place, { count, document: () => 0, heard: tally.add })
  const [writer] = await openWriters(place, 1)
  try {
    return await bursts(tally, { sockets: count, seconds }, async (from) => {
      for (let at = 0; at < burst; at += 1) await writer?.write(0, from + at)
    })
  } finally {
    closeAll(sockets)
    await writer?.close()
  }
}

/** Measures the same for the baseline, which creates its updates itself. */
export const bareFanOut = async (url: string, { sockets: count, seconds }: FanOut): Promise<number> => {
  const tally = createTally()
  const sockets = await openSockets({ url, path: '/', headers: {}, count, heard: tally.add })
  try {
    return await bursts(tally, { sockets: count, seconds }, async (from) => {
      await fetch(`${url}/?from=${from}&count=${burst}&text=${text}`, { method: 'POST' })
    })
  } finally {
    closeAll(sockets)
  }
}

const bursts = async (
  tally: ReturnType<typeof createTally>,
  { sockets, seconds }: FanOut,
  make: (from: number) => Promise<void>,
): Promise<number> => {
  let made = 0
  const round = async (): Promise<void> => {
    const heard = tally.reach(sockets * burst, patienceMs)
    await Promise.all([make(made), heard])
    made += burst
  }
  await round()
  const [startedMs, before] = [performance.now(), tally.count()]
  while (performance.now() - startedMs < seconds * 1_000) await round()
  return (tally.count() - before) / ((performance.now() - startedMs) / 1_000)
}

/**
 * Measures the milliseconds from commit to socket at a fixed rate of changes per second, each delivered to one socket.
 */
export const latency = async (
  target: Target,
  place: Place,
  { sockets: count, changesPerSecond, seconds }: { sockets: number; changesPerSecond: number; seconds: number },
): Promise<{ timesMs: number[]; changesPerSecond: number; unheard: number }> => {
  const changes = changesPerSecond * seconds
  const warmUp = changesPerSecond
  const committedMs = new Float64Array(changes + warmUp + 1)
  const heardMs = new Float64Array(changes + warmUp + 1)
  const tally = createTally()
  const sockets = await follow(target, place, {
    count,
    document: (at) => at % documentCount,
    heard: (update) => {
      heardMs[readN(update)] = performance.now()
      tally.add()
    },
  })
  const writers = await openWriters(place, 16)
  let next = 1
  const startedMs = performance.now()
  await Promise.all(
    writers.map(async (writer) => {
      while (next <= changes + warmUp) {
        const n = next
        next += 1
        const waitMs = startedMs + (n * 1_000) / changesPerSecond - performance.now()
        if (waitMs > 1) await delay(waitMs)
        await writer.write(n % documentCount, n)
        committedMs[n] = performance.now()
      }
    }),
  )
  const took = (performance.now() - startedMs) / 1_000
  // Waits a second for pending deliveries. An update that has not arrived by then was merged into a later version.
  await delay(1_000)
  closeAll(sockets)
  await Promise.all(writers.map((writer) => writer.close()))
  const counted = Array.from({ length: changes }, (_, at) => at + 1 + warmUp)
  const heard = counted.filter((n) => heardMs[n])
  return {
    // A socket may receive a change before the writer's commit returns.
    timesMs: heard.map((n) => Math.max(0, (heardMs[n] ?? 0) - (committedMs[n] ?? 0))),
    changesPerSecond: (changes + warmUp) / took,
    unheard: counted.length - heard.length,
  }
}

type FeedLoad = { readonly sockets: number; readonly changesPerSecond: number; readonly seconds: number }
type FeedTimes = { readonly timesMs: readonly number[]; readonly unheard: number }

/**
 * Measures the milliseconds from commit to socket of changes of worlds at a fixed rate, each delivered to every subscriber of
 * the project's feed. Changes that were merged into a later one of the same world count as unheard.
 */
export const feed = async (target: Target, place: Place, load: FeedLoad): Promise<FeedTimes> => {
  const { rename, close } = await openRenames(target.url, place)
  try {
    const { url } = target
    return await timeChanges({ url, path, headers: place.headers, subscribe: subscribeToWorlds(place) }, load, rename)
  } finally {
    await close()
  }
}

/**
 * Measures the same for the baseline: it gathers changes as long as the API does, and writes each message to every client in
 * one prebuilt frame. The time starts when it has taken the change.
 */
export const bareFeed = (url: string, load: FeedLoad): Promise<FeedTimes> => {
  const gatherMs = feedPauseMs(load.sockets)
  const change = (n: number) => fetch(`${url}/feed/?n=${n}&gatherMs=${gatherMs}`, { method: 'POST' })
  return timeChanges({ url, path: '/', headers: {}, subscribe: undefined }, load, change)
}

type FeedServer = {
  readonly url: string
  readonly path: string
  readonly headers: Record<string, string>
  /** The request of each socket, which gets a snapshot; undefined if sockets get changes without one. */
  readonly subscribe: string | undefined
}

/** Subscribes all sockets, makes changes at a fixed rate, and times the arrival of each at each socket. */
const timeChanges = async (
  { url, path, headers, subscribe }: FeedServer,
  { sockets: count, changesPerSecond, seconds }: FeedLoad,
  change: (n: number) => Promise<unknown>,
): Promise<FeedTimes> => {
  const total = changesPerSecond * (seconds + 1)
  const committedMs = new Float64Array(total)
  const tally = createTally()
  // Arrays of a fixed size leave the garbage collector no work during the measurement.
  const expected = (total - changesPerSecond) * count
  const heard = { n: new Uint32Array(expected), atMs: new Float64Array(expected), count: 0 }
  const opening = openSockets({
    url,
    path,
    headers,
    count,
    heard: (_, message) => {
      tally.add()
      const atMs = performance.now()
      readRenames(message, (n) => {
        // The first second warms up. Its changes may arrive in a snapshot too.
        if (n < changesPerSecond) return
        heard.n[heard.count] = n
        heard.atMs[heard.count] = atMs
        heard.count += 1
      })
    },
    opened: ({ send }) => subscribe !== undefined && send(subscribe),
  })
  const [sockets] = await Promise.all([opening, subscribe && tally.reach(count, patienceMs)])
  await actAtRate({ count: total, perSecond: changesPerSecond }, async (n) => {
    await change(n)
    committedMs[n] = performance.now()
  })
  await delay(1_000)
  closeAll(sockets)
  const timesMs: number[] = []
  for (let at = 0; at < Math.min(heard.count, expected); at += 1) {
    // A socket may receive a change before the writer knows that it is committed.
    timesMs.push(Math.max(0, (heard.atMs[at] ?? 0) - (committedMs[heard.n[at] ?? 0] ?? 0)))
  }
  return { timesMs, unheard: expected - heard.count }
}

/** Measures the server's memory per open socket, and per socket with a subscription, in bytes. */
export const idle = async (
  target: Target,
  place: Place,
  { sockets: count }: { sockets: number },
): Promise<{ open: number; following: number }> => {
  const residentBytes = async (): Promise<number> => {
    // The memory of the handshakes is freed within some seconds.
    await delay(5_000)
    return (await readMetrics(target.metricsUrl))('process_resident_memory_bytes')
  }
  const before = await residentBytes()
  const tally = createTally()
  const sockets = await openSockets({ url: target.url, path, headers: place.headers, count, heard: tally.add })
  const open = await residentBytes()
  const told = tally.reach(count, patienceMs)
  for (const { at, send } of sockets) send(subscribeTo(at % documentCount))
  await told
  const following = await residentBytes()
  closeAll(sockets)
  return { open: (open - before) / count, following: (following - before) / count }
}

/** Measures the seconds until all sockets have reconnected at once and have their snapshots again. */
export const reconnect = async (
  target: Target,
  place: Place,
  { sockets: count }: { sockets: number },
): Promise<{ p50: number; all: number }> => {
  const document = (at: number): number => at % documentCount
  closeAll(await follow(target, place, { count, document }))
  const startedMs = performance.now()
  const times: number[] = []
  const heard = (): void => void times.push(performance.now() - startedMs)
  closeAll(await follow(target, place, { count, document, heard }))
  return { p50: (times[Math.floor(count / 2)] ?? 0) / 1_000, all: (times[count - 1] ?? 0) / 1_000 }
}

/**
 * Measures document writes per second without and with the change record, in pairs of short turns. The speed of the
 * machine varies from second to second, but little within a pair.
 */
export const writeCost = async (
  writers: readonly Writer[],
  { writes, pairs }: { writes: number; pairs: number },
): Promise<{ without: number; with: number }[]> => {
  const record = (verb: 'enable' | 'disable') =>
    writers[0]?.query(`alter table documents ${verb} trigger realtime_documents`)
  const turn = async (how: 'with' | 'without'): Promise<number> => {
    await record(how === 'with' ? 'enable' : 'disable')
    let next = 0
    const startedMs = performance.now()
    await Promise.all(
      writers.map(async (writer) => {
        while (next < writes) {
          next += 1
          await writer.write(next % documentCount, next)
        }
      }),
    )
    return writes / ((performance.now() - startedMs) / 1_000)
  }
  const seen: { without: number; with: number }[] = []
  // The first pairs are not counted, because they are slow.
  for (let pair = -4; pair < pairs; pair += 1) {
    const rates = { without: 0, with: 0 }
    // Alternates which of the two runs first.
    const order = pair % 2 === 0 ? (['without', 'with'] as const) : (['with', 'without'] as const)
    for (const how of order) rates[how] = await turn(how)
    if (pair >= 0) seen.push(rates)
  }
  await record('enable')
  await Promise.all(writers.map((writer) => writer.close()))
  return seen
}
