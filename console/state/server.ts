import type { World } from '#client/operations.ts'
import { formatCount } from './format.ts'
import type { Row } from './row.ts'
import { playersOf } from './sort.ts'

/** The report of the server of a world on itself, in words. A part that it does not report is empty. */
export type ServerReport = { readonly players: string; readonly version: string; readonly map: string }

type AwakeReason = NonNullable<NonNullable<World['status']['idle']>['keptAwakeBy']>

const awakeWords: Readonly<Record<AwakeReason, string>> = {
  Players: 'kept awake by players',
  WaitingPlayers: 'kept awake by players who wait',
  Bots: 'kept awake by bots',
  UnknownCounts: 'kept awake because the server does not report its players',
}

/** Returns what keeps the run of a world awake, in words. A newer API may have other reasons. */
export const describeAwake = (reason: string): string =>
  Object.hasOwn(awakeWords, reason) ? awakeWords[reason as AwakeReason] : `kept awake by ${reason}`

type Read = Pick<World, 'status' | 'queueState' | 'admission'>

/**
 * Returns what the server of a world reports. The row of the fleet is newer than the world, as it was read. The players are unknown
 * while the operator asks the server and gets no answer that it can use.
 */
export const reportOf = ({ status, queueState, admission }: Read, row: Row | undefined): ServerReport => {
  const responding = status.conditions.find(({ type }) => type === 'Responding')
  const isUnknown = responding !== undefined && responding.status !== 'True' && row?.players === undefined
  if (isUnknown && (row?.phase ?? status.phase) === 'Active') {
    return { players: 'Unknown: the server does not report them', version: '', map: '' }
  }
  const read = `${formatCount(queueState.active)} of ${formatCount(admission.capacity)}`
  return {
    // A server that answers and has reported nobody yet has none in the row.
    players:
      row === undefined || (responding !== undefined && row.players === undefined) ? read : playersOf(row) || read,
    version: row?.reportedVersion ?? queueState.version ?? '',
    map: row?.reportedMap ?? queueState.map ?? '',
  }
}
