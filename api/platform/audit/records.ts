import type { Database, Transaction } from '#api/platform/database/client.ts'
import type { PartitionedTable } from '#api/platform/database/partitions/plan.ts'
import { rowsOf } from '#api/platform/database/rows.ts'
import { statement } from '#api/platform/database/statement.ts'
import type { Clock } from '#shared/clock.ts'
import type { NewId } from '#shared/ids.ts'
import { type AuditRow, auditRecords } from './table.ts'

const rows = rowsOf(auditRecords)
const dayMs = 86_400_000

/** Returns the partitions of the audit records: one for each week, kept for so many days. */
export const auditPartitions = (retentionDays: number): PartitionedTable => ({
  name: 'audit_records',
  column: 'created_at',
  partitionMs: 7 * dayMs,
  retentionMs: retentionDays * dayMs,
  isUnlogged: false,
})

/** Writes an audit record. Pass the transaction of the change, so that both are committed or neither. */
export const insertAuditRecord = async (db: Database | Transaction, row: AuditRow): Promise<void> => {
  await insertRecord(db, rows.encode(row))
}

// A statement, because each change writes a record.
const insertRecord = statement(rows.insert())

/** The author of a change that a command made, and the sources of its audit records. */
export type CommandAuthor = {
  /** The command without its arguments, such as `orrery sync adopt`. */
  readonly command: string
  readonly clock: Clock
  readonly newId: NewId
}

/** A change that a command made. Without an organization, it concerns the platform. */
export type CommandChange = {
  readonly action: string
  readonly resources: readonly string[]
  readonly organizationId?: string
  readonly projectId?: string
}

/** Writes the audit record of a change that a command made, in the transaction of the change. */
export const recordCommand = (
  { command, clock, newId }: CommandAuthor,
  tx: Transaction,
  { action, resources, organizationId = '', projectId = '' }: CommandChange,
): Promise<void> =>
  insertAuditRecord(tx, {
    id: newId('audit'),
    createdAt: new Date(clock.now()),
    organizationId,
    projectId,
    door: 'cli',
    actorKind: 'command',
    actorId: command,
    action,
    resources,
    fields: [],
    address: '',
    requestId: '',
  })

/**
 * Returns a database handle whose transactions each end with `record`. `onRecorded` is called after the commit of a record. A
 * write outside a transaction would have no audit record, so it throws. Reads are unchanged.
 */
export const withAuditedTransactions = (
  db: Database,
  record: (tx: Transaction) => Promise<void> | undefined,
  onRecorded?: () => void,
): Database => {
  const refuse = (): never => {
    throw new Error('A write outside a transaction has no audit record. Write in ctx.db.transaction.')
  }
  const transaction: Database['transaction'] = async (work, config) => {
    let recorded: Promise<void> | undefined
    const result = await db.transaction(async (tx) => {
      const done = await work(tx)
      // Sent together with the commit, without a round trip of its own. If it fails, Postgres rolls back at the commit.
      recorded = record(tx)
      recorded?.catch(() => undefined)
      return done
    }, config)
    await recorded
    if (recorded !== undefined) onRecorded?.()
    return result
  }
  return Object.create(db, {
    transaction: { value: transaction },
    insert: { value: refuse },
    update: { value: refuse },
    delete: { value: refuse },
  }) as Database
}
