import type { Clock } from '#shared/clock.ts'

/** A rate: `burst` times at once, and then once each `refillMs`. */
export type Pace = { readonly burst: number; readonly refillMs: number }

/** The number of names above which those whose burst is full again are forgotten. It doubles if too few are. */
const maxNames = 1_000

/** Creates the record of the rates of names: for each, the time at which its burst is full again. */
export const createPace = (clock: Clock, { burst, refillMs }: Pace) => {
  const fullAtMs = new Map<string, number>()
  let forgetAbove = maxNames
  const forgetFull = (): void => {
    for (const [name, atMs] of fullAtMs) if (atMs <= clock.monotonic()) fullAtMs.delete(name)
    forgetAbove = Math.max(maxNames, 2 * fullAtMs.size)
  }
  return {
    take: (name: string): void => {
      fullAtMs.set(name, Math.max(fullAtMs.get(name) ?? 0, clock.monotonic()) + refillMs)
      if (fullAtMs.size > forgetAbove) forgetFull()
    },
    /** Returns the time until the name may be taken again, 0 for now. */
    delayMs: (name: string): number =>
      Math.max(0, (fullAtMs.get(name) ?? 0) - (burst - 1) * refillMs - clock.monotonic()),
  }
}

/** The turns of the keys of namespaces, each `namespace/name`, at the rate of their namespace. */
export type PacedKeys = {
  /** Returns the time until it is the turn of a key, or 0 if it is now, which uses the turn. A key keeps the turn that it has. */
  waitMs(key: string): number
  /** Gives up the turn of a key. */
  forget(key: string): void
}

/** Creates the turns of keys. Keys of one namespace wait for each other, and for no other namespace. */
export const createPacedKeys = (clock: Clock, rate: Pace): PacedKeys => {
  const pace = createPace(clock, rate)
  const turns = new Map<string, number>()
  return {
    waitMs: (key) => {
      const nowMs = clock.monotonic()
      const namespace = namespaceOfKey(key)
      const known = turns.get(key)
      const turnMs = known ?? nowMs + pace.delayMs(namespace)
      if (known === undefined) pace.take(namespace)
      if (turnMs > nowMs) turns.set(key, turnMs)
      else turns.delete(key)
      return Math.max(0, turnMs - nowMs)
    },
    forget: (key) => void turns.delete(key),
  }
}

/** Returns the namespace of a key `namespace/name`. A key without one is a namespace of its own. */
export const namespaceOfKey = (key: string): string => key.split('/', 1)[0] ?? key
