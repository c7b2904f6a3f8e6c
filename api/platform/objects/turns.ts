/** Runs an action when its turn comes; undefined, without running it, where too many wait already. */
export type TakeTurn = <T>(action: () => Promise<T>) => Promise<T> | undefined

/** Lets at most `atOnce` actions run at a time, and at most `waiting` wait, in the order in which they came. */
export const createTurns = (limits: { atOnce: number; waiting: number }): TakeTurn => {
  let running = 0
  const queue: (() => void)[] = []
  const begin = (): Promise<void> => {
    if (running < limits.atOnce) {
      running += 1
      return Promise.resolve()
    }
    return new Promise((resolve) => queue.push(resolve))
  }
  const end = (): void => {
    const next = queue.shift()
    // The turn passes on, so that nobody who comes now takes it first.
    if (next === undefined) running -= 1
    else next()
  }
  return (action) => {
    if (running >= limits.atOnce && queue.length >= limits.waiting) return undefined
    return begin().then(action).finally(end)
  }
}
