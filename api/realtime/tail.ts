import type { ScopeIds } from '#api/domain/access/scope.ts'
import { type Clock, sleep } from '#shared/clock.ts'
import type { Log } from '#shared/log.ts'
import { within } from '#shared/peers.ts'
import { isGap, nextPollMs, parseSnapshot, type UnseenTransactions } from './pgSnapshot.ts'
import type { Json, ResourceType } from './protocol.ts'

/** A committed change. That of `worldCounts` is for feeds alone. If `data` is undefined, the current content must be read from the row. */
export type Change = ScopeIds & {
  readonly type: ResourceType | 'worldCounts' | 'apiKey'
  readonly id: string
  readonly userId: string
  readonly data: Json | undefined
  readonly versionMs: number
  /** Milliseconds since the change was written, by the clock of Postgres. */
  readonly ageMs: number
}

/** A Postgres session that reads change records. Every method rejects after the session is lost. */
export type TailSession = {
  /** Returns the current `pg_snapshot`. */
  begin(): Promise<string>
  /**
   * Returns the changes of transactions that became visible, in the order of their versions, and the new `pg_snapshot`. `crowded` are
   * organizations with too many changes, which are left out.
   */
  poll(
    unseen: UnseenTransactions,
  ): Promise<{ snapshot: string; changes: readonly Change[]; crowded?: readonly string[] }>
  close(): Promise<void>
}

type TailOptions = {
  readonly open: () => Promise<TailSession>
  readonly publish: (changes: readonly Change[]) => void
  /** Called when changes may have been missed, and every topic must be read again: of these organizations, or of all. */
  readonly refresh: (organizations?: ReadonlySet<string>) => void
  /** Returns a signal that is aborted when this replica gets a connection, or undefined if it has connections. */
  readonly untilWatched: () => AbortSignal | undefined
  /** Called after each successful poll. */
  readonly onPoll: () => void
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
}

const responseTimeoutMs = 10_000
const retryMs = 250
/** The additional delay without connections. Changes then only invalidate cached credentials, which must happen within a second. */
const unwatchedMs = 250

/**
 * Publishes committed changes until the signal is aborted. After a lost session it takes a new `pg_snapshot` and reads
 * every topic again, because the database may have crashed, failed over or been restored.
 */
export const tailChanges = async (options: TailOptions): Promise<void> => {
  const { clock, log, signal } = options
  while (!signal.aborted) {
    let session: TailSession | undefined
    try {
      session = await options.open()
      await tailSession(session, options)
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error }, 'realtime: tail session lost, reconnecting')
    }
    await session?.close()
    await sleep(clock, retryMs, signal)
  }
}

const tailSession = async (session: TailSession, options: TailOptions): Promise<void> => {
  const { clock, log, signal } = options
  /** Rejects if Postgres does not respond in time, as with a half-open connection. */
  const bounded = <T>(call: () => Promise<T>): Promise<T> =>
    within({ clock, timeoutMs: responseTimeoutMs, fault: 'Postgres did not answer' }, call)
  let unseen = parseSnapshot(await bounded(() => session.begin()))
  options.refresh()
  let changedMs = clock.monotonic()
  let polledMs = clock.monotonic()
  while (!signal.aborted) {
    const { snapshot, changes, crowded = [] } = await bounded(() => session.poll(unseen))
    unseen = parseSnapshot(snapshot)
    const nowMs = clock.monotonic()
    const gapMs = nowMs - polledMs
    polledMs = nowMs
    // Counts change all the time in a busy fleet, and can wait.
    if (changes.some(({ type }) => type !== 'worldCounts')) changedMs = nowMs
    options.onPoll()
    if (isGap(gapMs)) {
      log.warn({ gapMs }, 'realtime: no poll for more than a minute, reading all topics again')
      options.refresh()
    } else {
      options.publish(changes)
      if (crowded.length > 0) options.refresh(new Set(crowded))
    }
    await sleep(clock, nextPollMs({ sinceChangeMs: nowMs - changedMs }), signal)
    const watched = options.untilWatched()
    if (watched !== undefined) await sleep(clock, unwatchedMs, AbortSignal.any([watched, signal]))
  }
}
