import { inSession } from '#dev/postgres.ts'
import type { StackInfo } from '#dev/stack.ts'
import { loadCredentials } from '#shared/kube/config.ts'
import { createTransport } from '#shared/kube/transport.ts'
import { worldResource } from '#shared/resources/group.ts'
import { podResource } from './barePod.ts'
import { describeCpu, readProcessCpu } from './processCpu.ts'
import { openSockets } from './realtime/sockets.ts'
import type { Row } from './report.ts'
import { watchReady } from './watch.ts'

/** A project of a new organization, as a client of the API with the platform key. */
type Place = {
  readonly stack: StackInfo
  readonly scope: Readonly<Record<string, string>>
  call(path: string, body?: object, method?: string): Promise<Record<string, string>>
}

/**
 * Creates worlds over REST all at once, and then starts them all at once. Measures the time to the response, to the change of the
 * resource, to the first status of a new world, to the pod, to the phase Active of each resource, and, if a client subscribes to the
 * worlds, to that phase in the feed of the API.
 */
export const startWorlds = async (
  stack: StackInfo,
  count: number,
  { isSubscribed }: { readonly isSubscribed: boolean },
): Promise<Row[]> => {
  const place = await openPlace(stack, count)
  const transport = createTransport({
    credentials: loadCredentials({ KUBECONFIG: stack.kubeconfig }),
    userAgent: 'orrery-bench',
  })
  const [pods, worlds] = [await watchReady(transport, podResource), await watchReady(transport, worldResource)]
  const ids: string[] = []
  const created = await measure(place, count, {
    request: async (at) => {
      ids[at] = (await place.call('/api/worlds/', { name: `World ${at}`, transient: false })).worldId ?? ''
    },
    seen: async () => ({
      'create → resource': inOrder(ids, await worlds.made.all(ids)),
      'create → status': inOrder(ids, await worlds.reported.all(ids)),
    }),
    what: 'create',
  })
  const feed = isSubscribed ? await watchFeed(place, ids) : undefined
  const started = await measure(place, count, {
    request: (at) => place.call(`/api/worlds/${ids[at]}/start/`),
    seen: async () => ({
      'start → resource': inOrder(ids, await worlds.wanted.all(ids)),
      'start → pod made': inOrder(ids, await pods.made.all(ids)),
      'start → Active': inOrder(ids, await worlds.ready.all(ids)),
      ...(feed === undefined ? {} : { 'start → Active in REST': inOrder(ids, await feed.all()) }),
    }),
    what: 'start',
  })
  await pods.stop()
  await worlds.stop()
  await transport.close()
  const name = isSubscribed ? 'worlds' : 'no subscriber'
  return [...created, ...started].map((row) => ({ ...row, what: `${name}: ${row.what}` }))
}

/** Creates an organization without limits that matter, and a project. */
const openPlace = async (stack: StackInfo, count: number): Promise<Place> => {
  const scope: Record<string, string> = {}
  const call = async (path: string, body?: object, method = 'POST'): Promise<Record<string, string>> => {
    const answer = await fetch(`${stack.apiUrl}${path}`, {
      method,
      headers: { 'x-api-key': stack.rootApiKey, ...scope, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
    return text === '' ? {} : JSON.parse(text)
  }
  const { organizationId = '' } = await call('/api/organizations/', { name: 'Bench' })
  scope['x-svc-organization-id'] = organizationId
  const limits = { maxWorlds: count, maxRunningCapacity: count * capacity }
  await call(`/api/organizations/${organizationId}/limits/`, limits, 'PATCH')
  scope['x-svc-project-id'] = (await call('/api/organizations/projects/', { name: 'Bench' })).projectId ?? ''
  return { stack, scope, call }
}

type Load = {
  readonly request: (at: number) => Promise<unknown>
  /** Waits for the effects of all requests. Returns the time of each effect of each request. */
  readonly seen: () => Promise<Record<string, readonly number[]>>
  readonly what: string
}

/** Sends requests all at once. Returns a row for the responses and for each effect, the last one with the resources used. */
const measure = async ({ stack }: Place, count: number, { request, seen, what }: Load): Promise<Row[]> => {
  const before = await usage(stack)
  const cpuBefore = readProcessCpu()
  const asked: number[] = []
  const answered = await Promise.all(
    Array.from({ length: count }, async (_, at) => {
      asked[at] = performance.now()
      await request(at)
      return performance.now()
    }),
  )
  const effects = await seen()
  const cpu = describeCpu(cpuBefore, readProcessCpu(), count)
  const usageText = `${describe(before, await usage(stack), count)}; ${cpu}`
  const rows = Object.entries({ [`${what} → answer`]: answered, ...effects }).map(([name, times]) => ({
    what: name,
    timesMs: times.map((ms, at) => ms - (asked[at] ?? 0)),
  }))
  return rows.map((row, at) => (at === rows.length - 1 ? { ...row, usage: usageText } : row))
}

const inOrder = (ids: readonly string[], times: ReadonlyMap<string, number>): number[] =>
  ids.map((id) => times.get(id) ?? 0)

const limitMs = 120_000
/** No run of a new world has a larger capacity. */
const capacity = 100

/** Subscribes to the worlds of a project, and records when each was first Active in it. */
const watchFeed = async ({ stack, scope }: Place, names: readonly string[]) => {
  const wanted = new Set(names)
  const activeMs = new Map<string, number>()
  const done = Promise.withResolvers<void>()
  const id = scope['x-svc-project-id']
  const [socket] = await openSockets({
    url: stack.realtimeUrl.replace('ws', 'http'),
    path: new URL(stack.realtimeUrl).pathname,
    headers: { 'x-api-key': stack.rootApiKey, ...scope },
    count: 1,
    opened: ({ send }) => send(JSON.stringify({ action: 'subscribe', resource: { type: 'worlds', id } })),
    heard: (_, text) => {
      const { data } = JSON.parse(text.toString()) as FeedMessage
      for (const { worldId, status } of data?.worlds ?? []) {
        if (status?.phase === 'Active' && wanted.has(worldId) && !activeMs.has(worldId)) {
          activeMs.set(worldId, performance.now())
        }
      }
      if (activeMs.size === wanted.size) done.resolve()
    },
  })
  return {
    /** Resolves with the time at which each became Active. Rejects after two minutes. */
    all: async (): Promise<Map<string, number>> => {
      const timer = setTimeout(
        () => done.reject(new Error(`${activeMs.size} of ${wanted.size} were Active in the feed in time`)),
        limitMs,
      )
      await done.promise
      clearTimeout(timer)
      socket?.end()
      return activeMs
    },
  }
}

type FeedMessage = { readonly data?: { readonly worlds?: readonly { worldId: string; status?: { phase: string } }[] } }

type Usage = { cpuSeconds: number; rssMiB: number; requests: number }

type Totals = Record<'api' | 'operator', Usage> & { readonly transactions: number }

/** Reads the resources that operator and API have used so far from their metrics, and the transactions of the database. */
const usage = async ({ metricsUrls, databaseUrl }: StackInfo): Promise<Totals> => {
  const read = async (url: string): Promise<Usage> => {
    const text = await (await fetch(url)).text()
    const value = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? 0)
    return {
      cpuSeconds: value('process_cpu_seconds_total'),
      rssMiB: Math.round(value('process_resident_memory_bytes') / 2 ** 20),
      requests: [...text.matchAll(/^rest_client_requests_total\{.*\} (\S+)$/gm)].reduce(
        (sum, [, count]) => sum + Number(count),
        0,
      ),
    }
  }
  const transactions = await inSession(databaseUrl, async (sql) => {
    const { rows } = await sql.query(
      'select xact_commit::float8 as commits from pg_stat_database where datname = current_database()',
    )
    return Number(rows[0]?.commits)
  })
  return { api: await read(metricsUrls.api), operator: await read(metricsUrls.operator), transactions }
}

const describe = (before: Totals, after: Totals, count: number): string => {
  const each = (difference: number): string => (difference / count).toFixed(1)
  const processes = (['api', 'operator'] as const).map((name) => {
    const [was, is] = [before[name], after[name]]
    const cpu = `${each((is.cpuSeconds - was.cpuSeconds) * 1_000)} ms of CPU`
    return `${name} ${cpu} and ${each(is.requests - was.requests)} requests to the cluster a world, ${is.rssMiB} MiB`
  })
  return [...processes, `${each(after.transactions - before.transactions)} transactions a world`].join('; ')
}
