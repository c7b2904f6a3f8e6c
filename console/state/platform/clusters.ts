import type { SyncStatus, SyncStatusCluster, SyncStatusClusterDirtyRows } from '#client/operations.ts'
import { formatCount, formatDuration } from '../format.ts'
import type { StateText } from '../webhooks.ts'

/** A push that waits for longer is marked, as `orrery doctor` does. */
const slowPushSeconds = 60

const names: Readonly<Record<SyncStatusCluster['state'], string>> = {
  Accepted: 'Accepted',
  AnotherCluster: 'Refused: another cluster',
  RestoredCluster: 'Refused: restored from a backup',
}

/** Returns whether a cluster is synchronized, and why not. */
export const describeCluster = ({ state, message }: Pick<SyncStatusCluster, 'state' | 'message'>): StateText => ({
  name: names[state],
  detail: message,
  isBad: state !== 'Accepted',
})

/** Returns how many rows wait to be pushed, and for how long. A count that does not fall within a minute is bad. */
export const describeRows = ({ count, oldestSeconds }: SyncStatusClusterDirtyRows): StateText => ({
  name: formatCount(count),
  detail: count === 0 ? '' : `The oldest for ${formatDuration(oldestSeconds * 1000)}`,
  isBad: count > 0 && oldestSeconds >= slowPushSeconds,
})

/** Returns the number of rows that wait for a cluster that is not in the list. */
export const countRowsElsewhere = ({ clusters, dirtyRows }: Pick<SyncStatus, 'clusters' | 'dirtyRows'>): number =>
  Math.max(0, dirtyRows.count - clusters.reduce((sum, each) => sum + each.dirtyRows.count, 0))
