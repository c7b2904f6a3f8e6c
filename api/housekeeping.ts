import { type Clock, sleep } from '#shared/clock.ts'
import type { Log } from '#shared/log.ts'

/** Something that is done once in a while, so that what is over does not stay. */
export type Chore = {
  readonly name: string
  readonly everyMs: number
  readonly run: (signal: AbortSignal) => Promise<void>
}

/** Does chores until the signal is aborted; one that fails is logged and done again when its time comes. */
export const keepHouse = async (
  chores: readonly Chore[],
  { clock, log, signal }: { clock: Clock; log: Log; signal: AbortSignal },
): Promise<void> => {
  await Promise.all(
    chores.map(async ({ name, everyMs, run }) => {
      while (!signal.aborted) {
        await sleep(clock, everyMs, signal)
        if (signal.aborted) return
        await run(signal).catch((error: unknown) => log.warn({ chore: name, err: error }, 'a chore failed'))
      }
    }),
  )
}
