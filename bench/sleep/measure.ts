import { inSession } from '#dev/postgres.ts'
import { sleep, systemClock } from '#shared/clock.ts'
import { createClient } from '#shared/kube/client.ts'
import { readMetrics } from '../api.ts'
import { podResource } from '../barePod.ts'
import type { Parts } from '../scale/sizes.ts'
import { readServerMetrics, sumMetric } from '../serverMetrics.ts'

/** Counters by name. */
type Counters = Readonly<Record<string, number>>

/** Reads the written rows of each table, from the statistics of Postgres. */
const readRows = (databaseUrl: string): Promise<Counters> =>
  inSession(databaseUrl, async (sql) => {
    const { rows } = await sql.query(
      'select relname as name, (n_tup_ins + n_tup_upd + n_tup_del)::float8 as rows from pg_stat_user_tables',
    )
    return Object.fromEntries(rows.map(({ name, rows: written }) => [name, Number(written)]))
  })

/** Reads the writes that the API server has answered, by resource. */
const readWrites = async ({ cluster }: Parts): Promise<Counters> => {
  const metrics = await readServerMetrics(cluster.transport)
  const resources = new Set(
    [...metrics.matchAll(/^apiserver_request_total\{.*resource="(\w+)"/gm)].map(([, name]) => name),
  )
  return Object.fromEntries(
    [...resources].map((resource) => [
      resource,
      sumMetric(
        metrics,
        'apiserver_request_total',
        new RegExp(`resource="${resource}".*verb="(APPLY|POST|PUT|PATCH|DELETE)"`),
      ),
    ]),
  )
}

const readProcesses = async ({ api, operator }: Parts) => {
  const ofApi = await readMetrics(api.metricsUrl)
  const usage = await operator.usage()
  return {
    apiSeconds: ofApi('process_cpu_seconds_total'),
    apiMiB: ofApi('process_resident_memory_bytes') / 2 ** 20,
    operatorSeconds: usage.cpuSeconds,
    operatorMiB: usage.rssMiB,
  }
}

/** Names the counters that grew, with their growth. */
const growth = (before: Counters, after: Counters): string =>
  Object.entries(after)
    .map(([name, value]) => ({ name, grown: value - (before[name] ?? 0) }))
    .filter(({ grown }) => grown > 0)
    .map(({ name, grown }) => `${name} ${grown}`)
    .join(', ') || 'none'

/** Measures a system that nobody changes: pods, memory, CPU, and all that is written. */
export const measureRest = async (parts: Parts, seconds: number, say: (what: string, figure: string) => void) => {
  const pods = createClient(parts.cluster.transport, podResource)
  const first = await readProcesses(parts)
  const [rows, writes] = [await readRows(parts.databaseUrl), await readWrites(parts)]
  await sleep(systemClock, seconds * 1_000)
  const last = await readProcesses(parts)
  const core = (from: number, to: number): string => `${(((to - from) / seconds) * 100).toFixed(1)} % of a core`
  say('pods', `${(await pods.list()).items.length}`)
  say('API', `${last.apiMiB.toFixed(0)} MiB, ${core(first.apiSeconds, last.apiSeconds)}`)
  say('operator', `${last.operatorMiB} MiB, ${core(first.operatorSeconds, last.operatorSeconds)}`)
  say(`writes to the API server in ${seconds} s`, growth(writes, await readWrites(parts)))
  say(`rows written in ${seconds} s`, growth(rows, await readRows(parts.databaseUrl)))
}
