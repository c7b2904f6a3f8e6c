import type { Clock } from '#shared/clock.ts'

/**
 * How far a cache has come, and those who wait for it to come further. Versions of one kind compare as integers
 * (promised since Kubernetes 1.35); one that is no integer is let through at once.
 */
export type Versions = {
  /** The cache has seen this version of some object. */
  advance(version: string): void
  /** The cache is exactly at this version, be it a lower one (a server restored from a backup). */
  reset(version: string): void
  /** True once that version or a newer one was seen, false after the time. */
  reached(version: string, timeoutMs: number): Promise<boolean>
}

/** A record that has seen nothing yet. */
export const createVersions = (clock: Clock): Versions => {
  let current = -1n
  const waiting = new Set<{ version: bigint; resolve: () => void }>()
  const moveTo = (version: bigint): void => {
    current = version
    for (const waiter of waiting) if (waiter.version <= current) waiter.resolve()
  }
  return {
    advance: (text) => {
      const version = parse(text)
      if (version !== undefined && version > current) moveTo(version)
    },
    reset: (text) => {
      const version = parse(text)
      if (version !== undefined) moveTo(version)
    },
    reached: (text, timeoutMs) => {
      const version = parse(text)
      if (version === undefined || version <= current) return Promise.resolve(true)
      return new Promise((resolve) => {
        const settle = (reached: boolean): void => {
          timer.cancel()
          waiting.delete(waiter)
          resolve(reached)
        }
        const waiter = { version, resolve: () => settle(true) }
        const timer = clock.setTimeout(() => settle(false), timeoutMs)
        waiting.add(waiter)
      })
    },
  }
}

const parse = (version: string): bigint | undefined => (/^\d{1,30}$/.test(version) ? BigInt(version) : undefined)

/** Whether one version of an object is older than another of the same object; false where they cannot be compared. */
export const isOlder = (version: string, than: string): boolean => {
  const [a, b] = [parse(version), parse(than)]
  return a !== undefined && b !== undefined && a < b
}
