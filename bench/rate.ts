import { setTimeout as delay } from 'node:timers/promises'

/** Starts `count` actions at a fixed rate per second, and waits until all are done. Rejects if one of them rejects. */
export const actAtRate = async (
  { count, perSecond }: { count: number; perSecond: number },
  act: (n: number) => Promise<unknown>,
): Promise<void> => {
  const startedMs = performance.now()
  const pending: Promise<unknown>[] = []
  for (let n = 0; n < count; n += 1) {
    const waitMs = startedMs + (n * 1_000) / perSecond - performance.now()
    if (waitMs > 1) await delay(waitMs)
    const action = act(n)
    // Promise.all below reports a rejection. Node ends the process if no handler exists before that.
    action.catch(() => undefined)
    pending.push(action)
  }
  await Promise.all(pending)
}
