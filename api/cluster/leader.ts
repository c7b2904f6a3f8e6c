import postgres from 'postgres'
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
    const session = postgres(options.databaseUrl, {
      max: 1,
      idle_timeout: 0,
      max_lifetime: null,
      connect_timeout: 5,
      onclose: () => lost.abort(),
      onnotice: () => undefined,
    })
    try {
      const [row] = await session<{ locked: boolean }[]>`select pg_try_advisory_lock(${pullLock}) as locked`
      if (row?.locked) {
        log.info({}, 'pull: this replica follows the cluster')
        await lead(AbortSignal.any([signal, lost.signal]))
      }
    } catch (error) {
      log.warn({ err: error }, 'pull: the election failed and is tried again')
    } finally {
      await session.end({ timeout: 1 }).catch(() => undefined)
    }
    await sleep(clock, retryMs, signal)
  }
}
