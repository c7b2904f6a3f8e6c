import type { Clock, Timer } from '#shared/clock.ts'

/** The limits of the groups: the running actions, those of each group that wait, and the longest wait. */
export type ShareLimits = {
  /**
   * The running actions of all groups together, divided by the groups that are active. Each group may run one action in any case,
   * so there can be one more for each group.
   */
  readonly maxConcurrent: number
  readonly maxWaiting: number
  readonly maxWaitMs: number
}

/** Runs an action of a group. Throws the result of `refuse`, without running it, if the group is over its limits. */
export type RunInShare = <T>(group: string, action: () => Promise<T>, refuse: () => Error) => Promise<T>

type Waiter = { readonly resolve: (entered: boolean) => void; readonly timer: Timer }
type Group = { running: number; readonly waiting: Set<Waiter> }

/**
 * Returns a function that runs at most a group's share of `maxConcurrent` actions at a time, and lets others of the group wait, in
 * order. Groups do not wait for each other.
 */
export const createShares = (clock: Pick<Clock, 'setTimeout'>, limits: ShareLimits): RunInShare => {
  const { maxConcurrent } = limits
  const groups = new Map<string, Group>()
  let running = 0
  const hasRoom = (group: Group): boolean =>
    group.running === 0 || (running < maxConcurrent && group.running < Math.floor(maxConcurrent / groups.size))
  const count = (group: Group, change: 1 | -1): void => {
    group.running += change
    running += change
  }
  const wait = ({ waiting }: Group): Promise<boolean> =>
    new Promise((resolve) => {
      const timer = clock.setTimeout(() => {
        waiting.delete(waiter)
        resolve(false)
      }, limits.maxWaitMs)
      const waiter = { resolve, timer }
      waiting.add(waiter)
    })
  // Counted here and not when the action goes on, so that a new action cannot overtake it.
  const admitWaiting = (group: Group): void => {
    for (const next of group.waiting) {
      if (!hasRoom(group)) return
      count(group, 1)
      group.waiting.delete(next)
      next.timer.cancel()
      next.resolve(true)
    }
  }
  const leave = (name: string, group: Group): void => {
    count(group, -1)
    admitWaiting(group)
    if (group.running === 0) groups.delete(name)
    for (const other of groups.values()) admitWaiting(other)
  }
  return async (name, action, refuse) => {
    const group = groups.get(name) ?? { running: 0, waiting: new Set() }
    groups.set(name, group)
    if (hasRoom(group)) count(group, 1)
    else if (group.waiting.size >= limits.maxWaiting || !(await wait(group))) throw refuse()
    try {
      return await action()
    } finally {
      leave(name, group)
    }
  }
}
