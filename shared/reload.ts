import type { Clock } from './clock.ts'
import type { Log } from './log.ts'

/**
 * Reloads a part of the configuration at an interval, since a volume of Kubernetes swaps a symlink, which file watches do not report.
 * `load` throws if the new part cannot be used; the present one stays then, and `problem` is logged once with the reason. Returns a
 * function that ends it.
 */
export const reloadRegularly = (
  { clock, log, everyMs, problem }: { clock: Clock; log: Log; everyMs: number; problem: string },
  load: () => void | Promise<void>,
): (() => void) => {
  let lastFault = ''
  const look = async (): Promise<void> => {
    try {
      await load()
      lastFault = ''
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      if (why !== lastFault) log.error({ why }, problem)
      lastFault = why
    }
  }
  let isOver = false
  const arm = () => clock.setTimeout(() => void look().then(rearm), everyMs)
  let timer = arm()
  const rearm = (): void => {
    if (!isOver) timer = arm()
  }
  return () => {
    isOver = true
    timer.cancel()
  }
}
