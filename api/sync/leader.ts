import { openSession, type Session } from '#api/platform/database/pool.ts'
import { type Clock, sleep } from '#shared/clock.ts'
import type { Log } from '#shared/log.ts'

/** The advisory lock of the one replica that pulls from a cluster; any constant that nothing else uses. */
const pullLock = 7_211_404
const retryMs = 2_000

/**
 * Runs `lead` in one replica at a time, elected by a session advisory lock of Postgres: the lock goes when the session
 * goes, so a replica that dies is followed within the retry time. `lead` is aborted when the session is lost.
 */
export const whileLeader = async (
  options: { databaseUrl: string; clock: Clock; log: Log; signal: AbortSignal },
  lead: (signal: AbortSignal) => Promise<void>,
): Promise<void> => {
  const { clock, log, signal } = options
  while (!signal.aborted) {
    const lost = new AbortController()
    let session: Session | undefined
    try {
      session = await openSession({ connectionString: options.databaseUrl }, () => lost.abort())
      const { rows } = await session.client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [
        pullLock,
      ])
      if (rows[0]?.locked) {
        log.info({}, 'pull: this replica follows the cluster')
        await lead(AbortSignal.any([signal, lost.signal]))
      }
    } catch (error) {
      log.warn({ err: error }, 'pull: the election failed and is tried again')
    } finally {
      await session?.close()
    }
    await sleep(clock, retryMs, signal)
  }
}
