import { setTimeout as delay } from 'node:timers/promises'
import { inSession } from '#dev/postgres.ts'
import { createClient } from '#shared/kube/client.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import type { Transport } from '#shared/kube/transport.ts'
import { worldResource } from '#shared/resources/group.ts'
import type { World } from '#shared/resources/world.ts'
import { readMetrics, type Target } from '../api.ts'
import { createObjects } from '../operator/objects.ts'
import { watchNamespace } from '../operator/seen.ts'
import { insertWorlds, type Place } from './worlds.ts'

const limitMs = 600_000
const bareNamespace = 'bench-bare'
const quotaNamespace = 'bench-quota'
const pollMs = 100
let made = 0

type Options = {
  readonly api: Target
  readonly place: Place
  readonly databaseUrl: string
  readonly cluster: { readonly transport: Transport }
}

/**
 * Compares the rate at which the API pushes new rows with that of bare applies of the same spec by the same client: in a
 * namespace without any other object, and in one with the quotas of the organization's namespace, whose use the API server
 * writes for each new resource.
 */
export const drain = async ({ api, place, databaseUrl, cluster: { transport } }: Options, count: number) => {
  const [template = ''] = place.ids
  const worlds = createClient<World>(transport, worldResource)
  const { metadata, spec } = await worlds.get({ namespace: place.namespace, name: template })
  const { revision: _, ...bare } = spec
  const objects = createObjects(transport)
  await objects.namespace(bareNamespace)
  await objects.namespace(quotaNamespace)
  await copyQuotas(transport, { from: place.namespace, to: quotaNamespace })
  const applyAll = async (namespace: string): Promise<number> => {
    const startedMs = performance.now()
    await objects.stoppedWorlds(namespace, count, made, { spec: bare, labels: metadata.labels ?? {} })
    return count / ((performance.now() - startedMs) / 1_000)
  }
  const barePerSecond = await applyAll(bareNamespace)
  const quotaPerSecond = await applyAll(quotaNamespace)
  made += count

  const before = await readUse(api, databaseUrl)
  const live = await watchNamespace(transport, worldResource, place.namespace)
  const present = live.made.size
  await insertWorlds(databaseUrl, template, count)
  const committedMs = performance.now()
  await live.untilMade(present + count, limitMs)
  const rowsPerSecond = count / ((performance.now() - committedMs) / 1_000)
  await live.stop()
  await untilClean(databaseUrl)
  const after = await readUse(api, databaseUrl)
  return {
    barePerSecond,
    quotaPerSecond,
    rowsPerSecond,
    cpuMs: ((after.cpuSeconds - before.cpuSeconds) * 1_000) / count,
    commits: (after.commits - before.commits) / count,
  }
}

/** Copies the quotas of a namespace, and waits until their use is counted. */
const copyQuotas = async (transport: Transport, { from, to }: { from: string; to: string }): Promise<void> => {
  const quotas = createClient<ResourceQuota>(transport, {
    group: '',
    version: 'v1',
    plural: 'resourcequotas',
    kind: 'ResourceQuota',
  })
  const { items } = await quotas.list({ namespace: from })
  for (const { metadata, spec } of items) {
    const copy = { namespace: to, name: metadata.name }
    await quotas.apply(
      { apiVersion: 'v1', kind: 'ResourceQuota', metadata: copy, spec },
      { fieldManager: 'orrery-bench', force: true },
    )
    await until('the use of a quota to be counted', async () => {
      const { status } = await quotas.get(copy)
      return Object.keys(spec.hard ?? {}).every((name) => status?.used?.[name] !== undefined)
    })
  }
}

type ResourceQuota = KubeObject & {
  readonly spec: { readonly hard?: Readonly<Record<string, string>> }
  readonly status?: { readonly used?: Readonly<Record<string, string>> }
}

const untilClean = (databaseUrl: string): Promise<void> =>
  inSession(databaseUrl, (sql) =>
    until('all rows to be pushed', async () => {
      const { rows } = await sql.query('select count(*)::int as left from cluster_outbox')
      return rows[0]?.left === 0
    }),
  )

const until = async (what: string, isSeen: () => Promise<boolean>): Promise<void> => {
  const deadlineMs = performance.now() + limitMs
  while (!(await isSeen())) {
    if (performance.now() > deadlineMs) throw new Error(`Waited ten minutes for ${what}.`)
    await delay(pollMs)
  }
}

const readUse = async (api: Target, databaseUrl: string) => {
  const metrics = await readMetrics(api.metricsUrl)
  const commits = await inSession(databaseUrl, async (sql) => {
    const { rows } = await sql.query(
      'select xact_commit::float8 as commits from pg_stat_database where datname = current_database()',
    )
    return Number(rows[0]?.commits)
  })
  return { cpuSeconds: metrics('process_cpu_seconds_total'), commits }
}
