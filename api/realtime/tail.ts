import type { ScopeIds } from '#api/domain/access/scope.ts'
import { type Clock, sleep } from '#shared/clock.ts'
import type { Log } from '#shared/log.ts'
import type { Json, ResourceType } from './protocol.ts'
import { nextPollMs, readSnapshot, type Unseen, whyAnew } from './snapshot.ts'

/** A committed change. Without data, the row itself says what it is now. */
export type Change = ScopeIds & {
  readonly type: ResourceType | 'apiKey'
  readonly id: string
  readonly userId: string
  readonly data: Json | undefined
  readonly versionMs: number
  /** How long ago it was written, by the clock of Postgres. */
  readonly ageMs: number
}

/** One session of Postgres. Every method rejects once the session is lost. */
export type TailSession = {
  /** The present snapshot. */
  begin(): Promise<string>
  /** What became visible since, each document's changes in the order of their versions, and the snapshot of now. */
  poll(unseen: Unseen): Promise<{ snapshot: string; changes: readonly Change[] }>
  close(): Promise<void>
}

type TailOptions = {
  readonly open: () => Promise<TailSession>
  readonly publish: (changes: readonly Change[]) => void
  /** Something may have been missed: read everything that is followed. */
  readonly refresh: () => void
  readonly polled: () => void
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
}

const answerTimeoutMs = 10_000
const retryMs = 250

/**
 * Follows the changes until the signal is aborted. A session that is lost, in whatever way, is followed by a new
 * snapshot and a reading of everything that is followed: nothing is assumed of a server that was away, which may have
 * crashed, failed over or been restored.
 */
export const followChanges = async (options: TailOptions): Promise<void> => {
  const { clock, log, signal } = options
  while (!signal.aborted) {
    let session: TailSession | undefined
    try {
      session = await options.open()
      await followSession(session, options)
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error }, 'realtime: the tail lost its session and begins anew')
    }
    await session?.close()
    await sleep(clock, retryMs, signal)
  }
}

const followSession = async (session: TailSession, options: TailOptions): Promise<void> => {
  const { clock, log, signal } = options
  const answered = <T>(answer: Promise<T>): Promise<T> => within(clock, answer)
  let unseen = readSnapshot(await answered(session.begin()))
  options.refresh()
  let changedMs = clock.monotonic()
  let polledMs = clock.monotonic()
  while (!signal.aborted) {
    const { snapshot, changes } = await answered(session.poll(unseen))
    unseen = readSnapshot(snapshot)
    const nowMs = clock.monotonic()
    const why = whyAnew({ changes: changes.length, gapMs: nowMs - polledMs })
    polledMs = nowMs
    if (changes.length > 0) changedMs = nowMs
    options.polled()
    if (why === undefined) options.publish(changes)
    else {
      log.warn({ why }, 'realtime: everything that is followed is read anew')
      options.refresh()
    }
    await sleep(clock, nextPollMs({ sinceChangeMs: nowMs - changedMs }), signal)
  }
}

/** A connection that is silent for ever is as good as lost. */
const within = async <T>(clock: Clock, answer: Promise<T>): Promise<T> => {
  let timer: ReturnType<Clock['setTimeout']> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = clock.setTimeout(() => reject(new Error(`no answer within ${answerTimeoutMs} ms`)), answerTimeoutMs)
  })
  try {
    return await Promise.race([answer, late])
  } finally {
    timer?.cancel()
  }
}
