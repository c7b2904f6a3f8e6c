import type { Clock, Timer } from '#shared/clock.ts'

/** The limits of each group: its running actions, those that wait, and the longest wait. */
export type ShareLimits = { readonly maxConcurrent: number; readonly maxWaiting: number; readonly maxWaitMs: number }

/** Runs an action of a group. Throws the result of `refuse`, without running it, if the group is over its limits. */
export type RunInShare = <T>(group: string, action: () => Promise<T>, refuse: () => Error) => Promise<T>

type Waiter = { readonly resolve: (entered: boolean) => void; readonly timer: Timer }
type Group = { running: number; readonly waiting: Set<Waiter> }

/**
 * Returns a function that runs at most `maxConcurrent` actions of each group at a time and lets others of the group wait,
 * in order. Groups do not wait for each other.
 */
export const createShares = (clock: Pick<Clock, 'setTimeout'>, limits: ShareLimits): RunInShare => {
  const groups = new Map<string, Group>()
  const wait = ({ waiting }: Group): Promise<boolean> =>
    new Promise((resolve) => {
      const timer = clock.setTimeout(() => {
        waiting.delete(waiter)
        resolve(false)
      }, limits.maxWaitMs)
      const waiter = { resolve, timer }
      waiting.add(waiter)
    })
  const leave = (name: string, group: Group): void => {
    const [next] = group.waiting
    if (next === undefined) {
      group.running -= 1
      if (group.running === 0) groups.delete(name)
      return
    }
    // The slot passes to the next action, so that a new action cannot overtake it.
    group.waiting.delete(next)
    next.timer.cancel()
    next.resolve(true)
  }
  return async (name, action, refuse) => {
    const group = groups.get(name) ?? { running: 0, waiting: new Set() }
    groups.set(name, group)
    if (group.running < limits.maxConcurrent) group.running += 1
    else if (group.waiting.size >= limits.maxWaiting || !(await wait(group))) throw refuse()
    try {
      return await action()
    } finally {
      leave(name, group)
    }
  }
}
