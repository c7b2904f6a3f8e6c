import { isDeepStrictEqual } from 'node:util'
import type { BotRow } from '#api/domain/bots/table.ts'
import { type BotDeployment, isBotsDrained } from '#shared/resources/botDeployment.ts'
import { adoptEdit } from './adopt.ts'

/** The columns of the observed state of a bot deployment. */
type ObservedColumns = Pick<BotRow, 'phase' | 'statusMessage' | 'startedAt'>

/** The changes to a row that follow from a live BotDeployment. All are applied in one transaction. */
export type BotVerdict = {
  /** The resource has a higher revision than the row, as after a restore of the database. Nothing is written. */
  readonly frozen?: true
  /** The resource was deleted with kubectl, which deletes the bot deployment. */
  readonly markDeleting?: true
  /** The deletion is recorded and no bot is left, so the API's finalizer can be removed. */
  readonly release?: true
  /** The new count, if the resource was scaled with kubectl. */
  readonly adoptCount?: number
  /** The resource has a lower revision than the row, and no push is pending. */
  readonly pushAgain?: true
  readonly observed?: ObservedColumns
}

/** Compares a live BotDeployment with its row and decides the changes to the row. `dirty` is true if a push is pending. */
export const observeBots = (row: BotRow, live: BotDeployment, dirty: boolean): BotVerdict => {
  const liveRevision = live.spec.revision ?? 0
  if (liveRevision > row.revision) return { frozen: true }
  const seen = observedState(row, live)
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

const observedState = (row: BotRow, { status }: BotDeployment): Pick<BotVerdict, 'observed'> => {
  if (status?.phase === undefined) return {}
  const columns: ObservedColumns = {
    phase: status.phase,
    statusMessage: status.message ?? '',
    startedAt: status.startedAt === undefined ? null : new Date(status.startedAt),
  }
  const { phase, statusMessage, startedAt } = row
  return isDeepStrictEqual(columns, { phase, statusMessage, startedAt }) ? {} : { observed: columns }
}
