import { type Clock, sleep } from '#shared/clock.ts'
import type { Log } from '#shared/log.ts'

/** A task that runs at an interval, such as the removal of expired rows. */
export type PeriodicTask = {
  readonly name: string
  readonly intervalMs: number
  readonly run: (signal: AbortSignal) => Promise<void>
}

/** Runs tasks at their intervals until the signal aborts. A failure is logged and does not stop the task. */
export const runPeriodicTasks = async (
  tasks: readonly PeriodicTask[],
  { clock, log, signal }: { clock: Clock; log: Log; signal: AbortSignal },
): Promise<void> => {
  await Promise.all(
    tasks.map(async ({ name, intervalMs, run }) => {
      while (!signal.aborted) {
        await sleep(clock, intervalMs, signal)
        if (signal.aborted) return
        await run(signal).catch((error: unknown) => log.warn({ task: name, err: error }, 'periodic task failed'))
      }
    }),
  )
}
