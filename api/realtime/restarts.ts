import { type Clock, sleep } from '#shared/clock.ts'
import type { Subscription } from './connection.ts'

/** The shortest time between two starts of a subscription's snapshot. */
const minRestartMs = 1_000

/**
 * Returns a function that restarts the snapshot of a subscription: at once, or when a second has passed since its last restart. Calls
 * until then count as one.
 */
export const createRestarts = (
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  restart: (subscription: Subscription) => void,
) => {
  const restartedMs = new WeakMap<Subscription, number>()
  const waiting = new WeakSet<Subscription>()
  const run = (subscription: Subscription): void => {
    restartedMs.set(subscription, clock.monotonic())
    restart(subscription)
  }
  return (subscription: Subscription): void => {
    const waitMs = (restartedMs.get(subscription) ?? Number.NEGATIVE_INFINITY) + minRestartMs - clock.monotonic()
    if (waitMs <= 0) {
      run(subscription)
      return
    }
    if (waiting.has(subscription)) return
    waiting.add(subscription)
    void sleep(clock, waitMs, signal).then(() => {
      waiting.delete(subscription)
      if (subscription.entry.subscriptions.has(subscription)) run(subscription)
    })
  }
}
