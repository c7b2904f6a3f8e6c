import { parseArgs } from 'node:util'
import { readSyncConfig } from '#api/config.ts'
import { type Database, openDatabase } from '#api/platform/database/client.ts'
import { markAllDirty, organizationMark } from '#api/platform/outbox/outbox.ts'
import { type Difference, diagnose, explainOpenGrant, type Fix } from '#api/sync/doctor/diagnosis.ts'
import { readSnapshot } from '#api/sync/doctor/snapshot.ts'
import { systemClock } from '#shared/clock.ts'
import { createLog } from '#shared/log.ts'
import { loadProfiles } from '#shared/resources/loadProfiles.ts'
import { connectTo, type Listed, selectClusters } from './selectClusters.ts'

/** The most differences that are printed, and the most rows that `--fix` pushes again. */
const maxShown = 1_000
const maxFixed = 1_000

/**
 * `orrery doctor [--fix] [--cluster <name>]`: compares rows, resources, pods and namespaces in each cluster, and prints a
 * sentence for each difference. With `--fix`, rows and organizations that differ are pushed again. Throws if there are
 * differences, or if a cluster does not respond.
 */
export const doctor = async (args: readonly string[]): Promise<void> => {
  const options = { fix: { type: 'boolean', default: false }, cluster: { type: 'string' } } as const
  const { values } = parseArgs({ args: [...args], options })
  const config = readSyncConfig(process.env)
  const chosen = selectClusters(config.clusters, values.cluster)
  const { db, close } = openDatabase({ url: config.databaseUrl, poolSize: 4 })
  try {
    const differences: Difference[] = []
    const failures: string[] = []
    for (const cluster of chosen) {
      try {
        const found = await examine(db, config, cluster)
        differences.push(...found)
        if (values.fix) await fix(db, cluster, found)
      } catch (error) {
        if (chosen.length === 1) throw error
        failures.push(`Cluster ${cluster.name} cannot be compared: ${error instanceof Error ? error.message : error}`)
      }
    }
    if (failures.length > 0) throw new Error(failures.join('\n'))
    if (differences.length > 0)
      throw new Error(`${differences.length} difference${differences.length === 1 ? '' : 's'} found.`)
    process.stdout.write('Rows, resources, pods and namespaces agree.\n')
  } finally {
    await close()
  }
}

/** Prints and returns the differences of a cluster. */
const examine = async (
  db: Database,
  { clusters, scalingProfiles, namespacePrefix, limits, ...settings }: ReturnType<typeof readSyncConfig>,
  cluster: Listed,
): Promise<Difference[]> => {
  const transport = connectTo(cluster)
  try {
    const log = createLog({ name: 'doctor', level: 'error' })
    const profiles = await loadProfiles(transport, scalingProfiles, systemClock, log)
    const of = { cluster: cluster.name, namespacePrefix, defaultLimits: limits, profiles, settings }
    const snapshot = await readSnapshot({ db, transport, ...of })
    const differences = diagnose(snapshot)
    const place = clusters.length === 1 ? '' : `${cluster.name}: `
    for (const { subject, text } of differences.slice(0, maxShown)) {
      process.stdout.write(`${place}${subject}: ${text}\n`)
    }
    if (snapshot.pods === undefined) {
      process.stdout.write(`${place}Pods were not compared: the account may not read them.\n`)
    }
    if (snapshot.admission === undefined) {
      process.stdout.write(`${place}Admission policies were not compared: the account may not read them.\n`)
    }
    if (snapshot.admission === 'none') {
      process.stdout.write(`${place}No admission policy is installed. ${explainOpenGrant}\n`)
    }
    if (settings.publicUrl === undefined) {
      process.stdout.write(`${place}NetworkPolicies names-and-api were not compared: ORRERY_PUBLIC_URL is not set.\n`)
    }
    return differences
  } finally {
    await transport.close()
  }
}

const fix = async (db: Database, { name }: Listed, differences: readonly Difference[]): Promise<void> => {
  const count = await fixDifferences(db, name, differences)
  process.stdout.write(`Rows and organizations marked to be pushed again: ${count}.\n`)
}

/** Marks what differs as dirty, so that the API pushes it again. Returns the number of rows and organizations. */
const fixDifferences = async (db: Database, cluster: string, differences: readonly Difference[]): Promise<number> => {
  const fixes = new Map<string, Fix>()
  for (const { fix: wanted } of differences) {
    if (wanted === undefined || fixes.size >= maxFixed) continue
    const { kind } = wanted
    const id = kind === 'organization' ? organizationMark(wanted.id, cluster) : wanted.id
    fixes.set(`${kind} ${id}`, { ...wanted, id })
  }
  const byKind = Map.groupBy(fixes.values(), ({ kind }) => kind)
  await db.transaction(async (tx) => {
    for (const [kind, marked] of byKind) await markAllDirty(tx, kind, marked)
  })
  return fixes.size
}
