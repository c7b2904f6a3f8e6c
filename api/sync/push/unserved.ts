import type { Database } from '#api/platform/database/client.ts'
import { type Claimed, claimUnserved, retryLater, settleClaim } from '#api/platform/outbox/outbox.ts'
import { setWaitingMessage } from '#api/sync/rows/synced.ts'
import type { Log } from '#shared/log.ts'

const batchSize = 100
const leaseMs = 10_000
/** The interval for checking whether the cluster of a row is configured again. Its own push claims the row then. */
const retryMs = 5_000

/** Sets a waiting message on dirty rows whose cluster is not configured. It never rejects. */
export const holdUnserved = async ({
  db,
  clusters,
  log,
}: {
  readonly db: Database
  readonly clusters: readonly string[]
  readonly log: Log
}): Promise<void> => {
  try {
    const claimed = await claimUnserved(db, { limit: batchSize, leaseMs, served: clusters })
    await Promise.all(claimed.map((mark) => hold(db, mark)))
  } catch (error) {
    log.warn({ err: error }, 'sync: rows of clusters that are not configured cannot be read')
  }
}

const hold = async (db: Database, claimed: Claimed): Promise<void> => {
  const { kind, id, cluster } = claimed
  // A row that no longer exists has no cluster. Limits are applied when a cluster is configured again.
  if (cluster === '' || kind === 'organization') return void (await settleClaim(db, claimed))
  await setWaitingMessage(db, kind, id, `the cluster ${cluster} is not configured. Ask the platform operator.`)
  await retryLater(db, claimed, { delayMs: retryMs })
}
