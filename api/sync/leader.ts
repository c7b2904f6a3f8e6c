import { openSession, type Session } from '#api/platform/database/pool.ts'
import { type Clock, sleep } from '#shared/clock.ts'
import type { Log } from '#shared/log.ts'

/** The key of the advisory lock of the replica that pulls. It must differ from all other advisory locks of the product. */
const pullLock = 7_211_404
const retryMs = 2_000

/**
 * Runs `lead` in one replica at a time, elected by a session-level advisory lock of Postgres. The lock ends with the session,
 * so another replica takes over within the retry interval. `lead` is aborted when the session is lost.
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
        log.info({}, 'pull: this replica is the leader')
        await lead(AbortSignal.any([signal, lost.signal]))
      }
    } catch (error) {
      log.warn({ err: error }, 'pull: election failed, retrying')
    } finally {
      await session?.close()
    }
    await sleep(clock, retryMs, signal)
  }
}
