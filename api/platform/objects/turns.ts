/** Runs an action, queued behind others. Returns undefined, without running it, if the queue is full. */
export type Enqueue = <T>(action: () => Promise<T>) => Promise<T> | undefined

/** Returns a queue that runs at most `maxConcurrent` actions at a time and holds at most `maxQueued`, in order. */
export const createTurns = (limits: { maxConcurrent: number; maxQueued: number }): Enqueue => {
  let running = 0
  const queue: (() => void)[] = []
  const begin = (): Promise<void> => {
    if (running < limits.maxConcurrent) {
      running += 1
      return Promise.resolve()
    }
    return new Promise((resolve) => queue.push(resolve))
  }
  const end = (): void => {
    const next = queue.shift()
    // The slot passes to the next action, so that a new action cannot overtake it.
    if (next === undefined) running -= 1
    else next()
  }
  return (action) => {
    if (running >= limits.maxConcurrent && queue.length >= limits.maxQueued) return undefined
    return begin().then(action).finally(end)
  }
}
