import { isDeepStrictEqual } from 'node:util'
import type { BotRow } from '#api/domain/bots/table.ts'
import { type BotDeployment, isBotsDrained } from '#shared/resources/botDeployment.ts'
import { adoptEdit } from './adopt.ts'

/** The columns of a bot deployment that are observed rather than wanted. */
type ObservedColumns = Pick<BotRow, 'phase' | 'statusMessage' | 'startedAt'>

/** What a look at a live BotDeployment asks of its row. Everything in it is done in one transaction. */
export type BotVerdict = {
  /** The resource is ahead of the row: the database was restored. Nothing may be written. */
  readonly frozen?: true
  /** Somebody deleted the resource: that is a deletion of the bots. */
  readonly markDeleting?: true
  /** The deletion is recorded and the bots are gone: the API's finalizer may go. */
  readonly release?: true
  /** Somebody scaled the resource. */
  readonly adoptCount?: number
  /** The resource is behind a row of which nothing waits to be pushed. */
  readonly pushAgain?: true
  readonly observed?: ObservedColumns
}

/** Compares a live BotDeployment with its row. `dirty` says whether a push of the row is pending. Decides only. */
export const observeBots = (row: BotRow, live: BotDeployment, dirty: boolean): BotVerdict => {
  const liveRevision = live.spec.revision ?? 0
  if (liveRevision > row.revision) return { frozen: true }
  const seen = observed(row, live)
  if (live.metadata.deletionTimestamp !== undefined) {
    return {
      ...seen,
      ...(row.deletingAt === null ? { markDeleting: true } : {}),
      ...(isBotsDrained(live) ? { release: true } : {}),
    }
  }
  if (row.deletingAt !== null) return seen
  const adoptCount = adoptEdit(
    { revision: liveRevision, value: live.spec.count },
    { revision: row.revision, value: row.count },
    row.applied === null ? undefined : { revision: row.applied.revision ?? 0, value: row.applied.count },
  )
  if (adoptCount !== undefined) return { ...seen, adoptCount }
  return liveRevision < row.revision && !dirty ? { ...seen, pushAgain: true } : seen
}

const observed = (row: BotRow, { status }: BotDeployment): Pick<BotVerdict, 'observed'> => {
  if (status?.phase === undefined) return {}
  const columns: ObservedColumns = {
    phase: status.phase,
    statusMessage: status.message ?? '',
    startedAt: status.startedAt === undefined ? null : new Date(status.startedAt),
  }
  const { phase, statusMessage, startedAt } = row
  return isDeepStrictEqual(columns, { phase, statusMessage, startedAt }) ? {} : { observed: columns }
}
