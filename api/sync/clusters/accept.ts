import { eq, sql } from 'drizzle-orm'
import {
  type ClusterStateRow,
  clusterContainers,
  clusterStates,
  heldSweeps,
  syncFindings,
} from '#api/domain/clusters/table.ts'
import { type CommandAuthor, recordCommand } from '#api/platform/audit/records.ts'
import type { Database, Transaction } from '#api/platform/database/client.ts'
import { tables } from '#api/sync/rows/synced.ts'
import { kinds } from '#shared/resources/group.ts'

/**
 * Accepts a refused cluster. If none is refused, accepts the held sweeps. Returns a sentence for each accepted cluster or
 * sweep.
 *
 * - Another cluster: all resources are created there.
 * - A restored cluster: the database takes precedence over older resources, and missing ones are recreated.
 */
export const acceptCluster = (author: CommandAuthor, db: Database, cluster: string): Promise<string[]> =>
  db.transaction(async (tx) => {
    const [state] = await tx.select().from(clusterStates).where(eq(clusterStates.name, cluster)).for('update')
    const record = (action: string) => recordCommand(author, tx, { action, resources: [cluster] })
    if (state?.refusal != null) {
      await record('acceptCluster')
      return [await (state.refusal === 'AnotherCluster' ? acceptOther(tx, state) : acceptRestored(tx, state))]
    }
    const sweeps = await acceptSweeps(tx, cluster)
    if (sweeps.length > 0) await record('acceptSweeps')
    return sweeps
  })

const accepted = { version: '', refusal: null, refusedUid: null, refusedAt: null }

const acceptOther = async (tx: Transaction, { name, uid, refusedUid }: ClusterStateRow): Promise<string> => {
  await tx
    .update(clusterStates)
    .set({ ...accepted, uid: refusedUid ?? uid })
    .where(eq(clusterStates.name, name))
  for (const table of [clusterContainers, heldSweeps, syncFindings])
    await tx.delete(table).where(eq(table.cluster, name))
  let count = 0
  for (const [kind, table] of Object.entries(tables)) {
    const forgotten = await tx.execute(sql`
      update ${table} set applied = null, applied_resource_version = null, resource_uid = null
      where cluster = ${name} and removed_at is null`)
    await tx.execute(sql`
      insert into cluster_outbox (kind, id, revision, next_at)
      select ${kind}, id, revision, now() from ${table} where cluster = ${name} and removed_at is null
      on conflict (kind, id) do update
        set revision = excluded.revision, next_at = now(), epoch = cluster_outbox.epoch + 1, attempts = 0`)
    count += forgotten.rowCount ?? 0
  }
  return `The cluster ${refusedUid} is accepted in place of ${uid}. ${count} resources will be created in it.`
}

const acceptRestored = async (tx: Transaction, { name }: ClusterStateRow): Promise<string> => {
  await tx.update(clusterStates).set(accepted).where(eq(clusterStates.name, name))
  for (const [kind, table] of Object.entries(tables)) {
    await tx.execute(sql`update ${table} set applied_resource_version = null where cluster = ${name}`)
    // All resources may be missing in the backup.
    await tx.execute(sql`
      insert into held_sweeps (cluster, kind, missing, total, examples, held_at, accepted)
      select ${name}, ${kind}, 0, count(*), '[]', now(), count(*) from ${table} where cluster = ${name}
      on conflict (cluster, kind) do update set accepted = excluded.accepted`)
  }
  return (
    'The restored cluster is accepted. The database takes precedence over older resources, and missing resources will be ' +
    'recreated.'
  )
}

const acceptSweeps = async (tx: Transaction, cluster: string): Promise<string[]> => {
  const sweeps = await tx
    .update(heldSweeps)
    .set({ accepted: sql`${heldSweeps.missing}` })
    .where(eq(heldSweeps.cluster, cluster))
    .returning()
  return sweeps.map(({ kind, missing }) => `${missing} missing ${kinds[kind].plural} will be recreated.`)
}
