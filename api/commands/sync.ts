import { parseArgs } from 'node:util'
import { and, asc, eq, inArray, or, sql } from 'drizzle-orm'
import { readSyncConfig } from '#api/config.ts'
import type { SyncStatusAnswer } from '#api/domain/clusters/schema.ts'
import { getSyncStatus } from '#api/domain/clusters/status.ts'
import { type FindingRow, syncFindings } from '#api/domain/clusters/table.ts'
import type { CommandAuthor } from '#api/platform/audit/records.ts'
import { type Database, openDatabase } from '#api/platform/database/client.ts'
import { createLargeReads } from '#api/platform/database/largeReads.ts'
import { createBudget } from '#api/platform/fairness/budget.ts'
import { acceptCluster } from '#api/sync/clusters/accept.ts'
import { adoptOrphan, type RecoveryDeps, releaseRow, removeOrphan } from '#api/sync/doctor/recover.ts'
import { systemClock } from '#shared/clock.ts'
import { createIdSource } from '#shared/ids.ts'
import { createClient } from '#shared/kube/client.ts'
import { createClients } from '#shared/resources/clients.ts'
import { connectTo, type Listed, selectClusters } from './selectClusters.ts'

const usage = `Usage: orrery sync <command>
  status                                       shows clusters, held sweeps, dirty rows and findings
  accept                                       accepts the refused cluster, or else its held sweeps
  adopt <resource>… | --all                    gives orphans a row again
  remove <resource>…                           deletes orphans
  release [--keep-row] <resource>… | --all     continues frozen rows, with the settings of the resource or of the row
--cluster <name> limits a command to one cluster. accept needs it if there are several.
A resource is named as status shows it: namespace/name.`

/** The most findings that `status` prints. */
const maxShown = 100
/** The most findings that one command resolves. */
const maxResolved = 1_000

/** `orrery sync`: shows the state of the sync and resolves what only a person can decide. */
export const sync = async (args: readonly string[]): Promise<void> => {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      all: { type: 'boolean', default: false },
      'keep-row': { type: 'boolean', default: false },
      cluster: { type: 'string' },
    },
  })
  const [name = '', ...names] = positionals
  const config = readSyncConfig(process.env)
  const { db, close } = openDatabase({ url: config.databaseUrl, poolSize: 2 })
  const kept = values['keep-row'] ? 'row' : 'resource'
  const resolvers = {
    adopt: { type: 'Orphan', done: 'adopted', resolve: adoptOrphan },
    remove: { type: 'Orphan', done: 'removed', resolve: removeOrphan },
    release: { type: 'Frozen', done: 'released', resolve: (deps, finding) => releaseRow(deps, finding, kept) },
  } as const satisfies Record<string, Resolver>
  try {
    const chosen = selectClusters(config.clusters, values.cluster)
    if (name === 'status') return print(await describeStatus(db, config.clusters))
    const author = {
      command: `orrery sync ${name}`,
      clock: systemClock,
      newId: createIdSource({ now: systemClock.now }),
    }
    if (name === 'accept') return print(await accept(author, db, chosen))
    const resolver = Object.entries(resolvers).find(([each]) => each === name)?.[1]
    const isRemovalOfAll = values.all && name === 'remove'
    if (resolver === undefined || (names.length === 0 && !values.all) || isRemovalOfAll) throw new Error(usage)
    await resolveFindings({ db, author }, { ...config, chosen }, resolver, values.all ? undefined : names)
  } finally {
    await close()
  }
}

const print = (lines: readonly string[]): void => void process.stdout.write(`${lines.join('\n')}\n`)

const accept = async (
  author: CommandAuthor,
  db: Database,
  [cluster, ...others]: readonly Listed[],
): Promise<readonly string[]> => {
  if (cluster === undefined || others.length > 0) throw new Error(`Name the cluster with --cluster.\n${usage}`)
  const done = await acceptCluster(author, db, cluster.name)
  return done.length > 0 ? done : ['Nothing waits for acceptance.']
}

type Resolver = {
  readonly type: FindingRow['type']
  readonly done: string
  readonly resolve: (deps: RecoveryDeps, finding: FindingRow) => Promise<void>
}

/** The database, and the author of the audit records. */
type By = { readonly db: Database; readonly author: CommandAuthor }

/** Resolves the named findings, or all of the type. Throws at the end if some could not be resolved. */
const resolveFindings = async (
  by: By,
  config: ReturnType<typeof readSyncConfig> & { readonly chosen: readonly Listed[] },
  resolver: Resolver,
  names: readonly string[] | undefined,
): Promise<void> => {
  const { type, done } = resolver
  const clusters = config.chosen.map(({ name }) => name)
  const findings = await readFindings(by.db, { clusters, type, names })
  requireOneCluster(findings, names)
  let failures = 0
  for (const [name, ofCluster] of Map.groupBy(findings, ({ cluster }) => cluster)) {
    const cluster = config.chosen.find((each) => each.name === name)
    if (cluster !== undefined) failures += await resolveIn(by, { ...config, cluster }, resolver, ofCluster)
  }
  const missing = names?.filter((name) => !findings.some((each) => isNamed(each, name))) ?? []
  const [one, all] = type === 'Frozen' ? ['a frozen row', 'frozen rows'] : ['an orphan', 'orphans']
  for (const name of missing) print([`${name} is not ${one}. Run "orrery sync status" to list ${all}.`])
  if (failures + missing.length > 0) throw new Error(`${failures + missing.length} could not be ${done}.`)
}

/** Throws if a name stands for findings of several clusters. */
const requireOneCluster = (findings: readonly FindingRow[], names: readonly string[] = []): void => {
  for (const name of names) {
    const clusters = new Set(findings.filter((each) => isNamed(each, name)).map(({ cluster }) => cluster))
    if (clusters.size > 1) throw new Error(`${name} is in ${[...clusters].join(' and ')}. Name one with --cluster.`)
  }
}

/** Resolves findings of one cluster. Returns the number of those that could not be resolved. */
const resolveIn = async (
  { db, author }: By,
  { cluster, namespacePrefix, limits }: ReturnType<typeof readSyncConfig> & { readonly cluster: Listed },
  { done, resolve }: Resolver,
  findings: readonly FindingRow[],
): Promise<number> => {
  const transport = connectTo(cluster)
  const deps: RecoveryDeps = {
    ...author,
    db,
    cluster: cluster.name,
    namespacePrefix,
    defaultLimits: limits,
    clients: createClients(transport),
    namespaces: createClient(transport, { group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace' }),
  }
  let failures = 0
  try {
    for (const finding of findings) {
      const title = `${finding.namespace}/${finding.name}`
      try {
        await resolve(deps, finding)
        print([`${title} is ${done}.`])
      } catch (error) {
        failures += 1
        print([`${title} is not ${done}: ${error instanceof Error ? error.message : String(error)}`])
      }
    }
    return failures
  } finally {
    await transport.close()
  }
}

const isNamed = ({ namespace, name }: FindingRow, given: string): boolean =>
  given === name || given === `${namespace}/${name}`

/** Reads the findings of a type, worlds first, since bots belong to them. */
const readFindings = (
  db: Database,
  {
    clusters,
    type,
    names,
  }: { clusters: readonly string[]; type: FindingRow['type']; names: readonly string[] | undefined },
): Promise<FindingRow[]> => {
  const fullName = sql<string>`${syncFindings.namespace} || '/' || ${syncFindings.name}`
  const isGiven = names && or(inArray(syncFindings.name, [...names]), inArray(fullName, [...names]))
  return db
    .select()
    .from(syncFindings)
    .where(and(inArray(syncFindings.cluster, [...clusters]), eq(syncFindings.type, type), isGiven))
    .orderBy(sql`${syncFindings.kind} = 'world' desc`, asc(syncFindings.id))
    .limit(maxResolved)
}

const describeStatus = async (db: Database, listed: readonly Listed[]): Promise<readonly string[]> => {
  const { open } = createBudget({ total: Number.POSITIVE_INFINITY, perGroup: 0, free: 0 })
  const reader = { db, lease: open(undefined), runLargeRead: createLargeReads(systemClock) }
  const { status } = await getSyncStatus(reader, { limit: maxShown })
  const removed = status.clusters.filter(({ name }) => !listed.some((each) => each.name === name))
  return [
    ...status.clusters.flatMap(describeCluster),
    ...removed.map(({ name }) => `Cluster ${name} is not in ORRERY_CLUSTERS_FILE. Its rows wait until it is.`),
    ...describeRows(status),
    ...describeFindings(status),
  ]
}

const describeCluster = ({ name, state, uid, message, heldSweeps }: SyncStatusAnswer['clusters'][number]) => [
  `Cluster ${name}: ${state}, uid ${uid}.${message === '' ? '' : ` ${message}`}`,
  ...heldSweeps.map(
    ({ kind, missing, total, heldAt }) =>
      `Held since ${heldAt}: ${missing} of ${total} ${kind} resources are missing. ` +
      `Run "orrery sync accept --cluster ${name}" to recreate them.`,
  ),
]

const describeRows = ({ dirtyRows, counts }: SyncStatusAnswer): string[] => [
  `Dirty rows: ${dirtyRows.count}, the oldest for ${Math.round(dirtyRows.oldestSeconds)} s.`,
  `Frozen rows: ${counts.frozen}. Orphans: ${counts.orphans}. Strangers: ${counts.strangers}.`,
]

const describeFindings = ({ findings, counts }: SyncStatusAnswer): string[] => {
  const more = counts.frozen + counts.orphans + counts.strangers - findings.length
  return [
    ...findings.map(
      ({ type, kind, cluster, namespace, name, message }) =>
        `${type} ${kind} ${namespace}/${name} in cluster ${cluster}: ${message}`,
    ),
    ...(more > 0 ? [`${more} more; GET /api/sync/ lists them all.`] : []),
  ]
}
