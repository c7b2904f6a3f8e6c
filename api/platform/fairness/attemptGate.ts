import type { Clock } from '#shared/clock.ts'

/** The time for which a refusal stands for the next attempts. */
const maxAgeMs = 5_000
const maxRefusals = 10_000

type Attempt = {
  /** The id of what all callers attempt. */
  readonly subject: string
  readonly caller: string
  readonly run: () => Promise<void>
  /** Returns whom an error refuses: all callers of the subject, or this caller alone. Undefined if it is no refusal. */
  readonly refusedBy: (error: unknown) => 'subject' | 'caller' | undefined
}

/**
 * Runs an attempt unless one at the same subject is under way or was just refused. Resolves once an attempt has succeeded, this one or
 * another. Throws the error of the own attempt, or a refusal of the last 5 s of the subject or the caller.
 */
export type AttemptGate = (attempt: Attempt) => Promise<void>

/** Creates a gate. While the attempts at a subject are refused, this replica makes one attempt every 5 s, however many callers there are. */
export const createAttemptGate = (clock: Pick<Clock, 'monotonic'>): AttemptGate => {
  const refusals = new Map<string, { readonly error: unknown; readonly atMs: number }>()
  /** Resolves to false if the attempt failed. At most one for each request. */
  const underWay = new Map<string, Promise<boolean>>()
  const throwRefusal = (key: string): void => {
    const known = refusals.get(key)
    if (known !== undefined && clock.monotonic() - known.atMs < maxAgeMs) throw known.error
  }
  const remember = (key: string, error: unknown): void => {
    refusals.delete(key)
    const [oldest] = refusals.keys()
    if (refusals.size >= maxRefusals && oldest !== undefined) refusals.delete(oldest)
    refusals.set(key, { error, atMs: clock.monotonic() })
  }
  const runFirst = async ({ subject, caller, run, refusedBy }: Attempt): Promise<void> => {
    try {
      await run()
    } catch (error) {
      const by = refusedBy(error)
      if (by !== undefined) remember(by === 'caller' ? caller : subject, error)
      throw error
    } finally {
      underWay.delete(subject)
    }
  }
  return async (attempt) => {
    const { subject, caller } = attempt
    // A further turn follows only on an attempt that failed for its caller alone, or unexpectedly.
    while (true) {
      throwRefusal(subject)
      throwRefusal(caller)
      const other = underWay.get(subject)
      if (other === undefined) break
      if (await other) return
    }
    const made = runFirst(attempt)
    const hasSucceeded = made.then(
      () => true,
      () => false,
    )
    underWay.set(subject, hasSucceeded)
    await made
  }
}
