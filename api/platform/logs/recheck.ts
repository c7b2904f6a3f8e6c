import type { Principal } from '#api/platform/auth/principal.ts'
import { type Clock, sleep } from '#shared/clock.ts'
import type { Log } from '#shared/log.ts'
import type { LogReader, LogSlots } from './slots.ts'

/** The interval of the checks. A log that may no longer be read ends within a second. */
const everyMs = 500

type RecheckOptions = {
  readonly slots: Pick<LogSlots, 'readers'>
  /** Reads principals again, in the given order. Undefined means that the credential is no longer valid. */
  readonly readCredentials: (principals: readonly Principal[]) => Promise<readonly (Principal | undefined)[]>
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
}

/** Ends the logs that their readers may no longer read, until the signal is aborted. Without a database it retries. */
export const recheckLogs = async (options: RecheckOptions): Promise<void> => {
  const { slots, clock, log, signal } = options
  let hasFailed = false
  while (!signal.aborted) {
    await sleep(clock, everyMs, signal)
    const readers = slots.readers()
    if (signal.aborted || readers.length === 0) continue
    try {
      await recheckAll(options, readers)
      hasFailed = false
    } catch (error) {
      if (!hasFailed) log.warn({ err: error }, 'the readers of logs could not be checked, retrying')
      hasFailed = true
    }
  }
}

const recheckAll = async ({ readCredentials, clock }: RecheckOptions, readers: readonly LogReader[]): Promise<void> => {
  const present = await readCredentials(readers.map(({ principal }) => principal))
  await Promise.all(
    readers.map(async ({ principal, findEnd, end }, at) => {
      const now = present[at]
      const reason = now === undefined || !isUsable(now, principal, clock.now()) ? 'Revoked' : await findEnd(now)
      if (reason !== undefined) end(reason)
    }),
  )
}

/** Reports whether a credential has not expired and has the networks that were checked when the log was opened. */
const isUsable = (present: Principal, { allowedNetworks = [] }: Principal, nowMs: number): boolean =>
  (present.expiresAtMs ?? Number.POSITIVE_INFINITY) > nowMs &&
  (present.allowedNetworks ?? []).join() === allowedNetworks.join()
