import { inSession } from '#dev/postgres.ts'
import type { StackInfo } from '#dev/stack.ts'
import { loadCredentials } from '#shared/kube/config.ts'
import { createTransport } from '#shared/kube/transport.ts'
import { worldResource } from '#shared/resources/group.ts'
import { describeCpu, readProcessCpu } from './processCpu.ts'
import { openSockets } from './realtime/sockets.ts'
import type { Row } from './report.ts'
import { watchReady } from './watch.ts'

/**
 * Starts worlds over REST all at once. Measures the time to the response, to the pod, to the phase Active of each resource, and, if
 * a client subscribes to them, to that phase in the feed of the API.
 */
export const startWorlds = async (
  stack: StackInfo,
  count: number,
  { isSubscribed }: { readonly isSubscribed: boolean },
): Promise<Row[]> => {
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
  const ids: string[] = []
  for (let made = 0; made < count; made += 1) {
    ids.push((await call('/api/worlds/', { name: `World ${made}`, transient: false })).worldId ?? '')
  }

  const transport = createTransport({
    credentials: loadCredentials({ KUBECONFIG: stack.kubeconfig }),
    userAgent: 'orrery-bench',
  })
  const podResource = { group: '', version: 'v1', plural: 'pods', kind: 'Pod' }
  const [pods, worlds] = await Promise.all([
    watchReady(transport, podResource, ids),
    watchReady(transport, worldResource, ids),
  ])
  // The statuses of new worlds are work that their creation causes.
  await worlds.reported()
  const feed = isSubscribed ? await watchFeed(stack, scope, ids) : undefined
  const before = await usage(stack)
  const cpuBefore = readProcessCpu()
  const asked = new Map<string, number>()
  const answered = await Promise.all(
    ids.map(async (id) => {
      asked.set(id, performance.now())
      await call(`/api/worlds/${id}/start/`)
      return performance.now() - (asked.get(id) ?? 0)
    }),
  )
  const active = await worlds.all()
  await pods.all()
  const shown = await feed?.all()
  const cpu = describeCpu(cpuBefore, readProcessCpu(), count)
  const after = await usage(stack)
  await transport.close()
  const since = (times: Map<string, number>): number[] => ids.map((id) => (times.get(id) ?? 0) - (asked.get(id) ?? 0))
  const rows = [
    { what: 'start → answer', timesMs: answered },
    { what: 'start → pod made', timesMs: since(pods.made) },
    { what: 'start → Active', timesMs: since(active) },
    ...(shown === undefined ? [] : [{ what: 'start → Active in REST', timesMs: since(shown) }]),
  ]
  const name = isSubscribed ? 'worlds' : 'no subscriber'
  const usageText = `${describe(before, after, count)}; ${cpu}`
  return rows.map((row, at) => ({
    ...row,
    what: `${name}: ${row.what}`,
    ...(at === rows.length - 1 && { usage: usageText }),
  }))
}

const limitMs = 120_000
/** No run of a new world has a larger capacity. */
const capacity = 100

/** Subscribes to the worlds of a project, and records when each was first Active in it. */
const watchFeed = async (stack: StackInfo, scope: Readonly<Record<string, string>>, names: readonly string[]) => {
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
