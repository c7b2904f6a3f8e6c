import type { Clock, Timer } from './clock.ts'
import { addCount } from './counts.ts'
import { createFairQueue, type SharedQueue } from './fairQueue.ts'

/** The limits of actions that share slots. */
export type TurnLimits = {
  readonly slots: number
  /** The last slots, which are for owners without a slot, so that slow actions of one owner do not take all. */
  readonly reserve: number
  /** The number of actions that may wait. The last quarter is for owners of which none waits. */
  readonly maxWaiting: number
  readonly maxWaitingOfOne: number
  /** The longest wait. Without it, an action waits for its turn however long that takes. */
  readonly wait?: { readonly clock: Pick<Clock, 'setTimeout'>; readonly maxMs: number }
}

/** The limit that refuses an action: too many actions of its owner wait, or of all. */
export type Crowd = 'owner' | 'all'

/** Runs an action in the turn of its owner. Throws the result of `refuse`, without running it, if too many wait. */
export type RunInTurn = <T>(owner: string, action: () => Promise<T>, refuse: (crowd: Crowd) => Error) => Promise<T>

type Waiter = { readonly owner: string; readonly resolve: (entered: boolean) => void; timer: Timer | undefined }

/** Returns a function that runs actions in slots that owners share. Owners take turns, and the actions of one run in order. */
export const createTurns = (name: SharedQueue, limits: TurnLimits): RunInTurn => {
  const { slots, reserve, maxWaiting, maxWaitingOfOne, wait } = limits
  const waiting = createFairQueue<Waiter>(name, ({ owner }) => owner)
  const running = new Map<string, number>()
  let free = slots
  const mayTake = (owner: string): boolean => free > reserve || (free > 0 && !running.has(owner))
  const begin = (owner: string): void => {
    free -= 1
    addCount(running, owner, 1)
  }
  const end = (owner: string): void => {
    addCount(running, owner, -1)
    free += 1
    // The owner may use the reserve again. Others come first.
    const takeNext = () => waiting.take(1, (each) => each !== owner && mayTake(each))[0] ?? waiting.take(1, mayTake)[0]
    for (let next = takeNext(); next !== undefined; next = takeNext()) {
      begin(next.owner)
      next.timer?.cancel()
      next.resolve(true)
    }
  }
  const crowdOf = (owner: string): Crowd | undefined => {
    const own = waiting.sizeOf(owner)
    if (own >= maxWaitingOfOne) return 'owner'
    return waiting.size >= (own === 0 ? maxWaiting : maxWaiting * 0.75) ? 'all' : undefined
  }
  const enter = (owner: string): Promise<boolean> =>
    new Promise((resolve) => {
      const waiter: Waiter = { owner, resolve, timer: undefined }
      waiter.timer = wait?.clock.setTimeout(() => {
        waiting.delete(waiter)
        resolve(false)
      }, wait.maxMs)
      waiting.add(waiter)
    })
  return async (owner, action, refuse) => {
    if (mayTake(owner)) begin(owner)
    else {
      const crowd = crowdOf(owner)
      if (crowd !== undefined) throw refuse(crowd)
      if (!(await enter(owner))) throw refuse('all')
    }
    try {
      return await action()
    } finally {
      end(owner)
    }
  }
}
