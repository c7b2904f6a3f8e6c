import type { Clock } from '#shared/clock.ts'

/**
 * The newest resourceVersion of a cache, and the callers that wait for a newer one. Versions of one kind compare as
 * integers (guaranteed since Kubernetes 1.35). Waiting for a version that is not an integer succeeds at once.
 */
export type Versions = {
  /** Records that the cache has this version of an object. */
  advance(version: string): void
  /** Sets the version of the cache. It can be lower than before if the server was restored from a backup. */
  reset(version: string): void
  /** Resolves with true once the cache has that version or a newer one, with false after `timeoutMs` or at the end. */
  waitFor(version: string, timeoutMs: number): Promise<boolean>
  /** Ends all waits, present and future: the cache gets no more versions. */
  end(): void
}

/** Creates the record of an empty cache. */
export const createVersions = (clock: Clock): Versions => {
  let current = -1n
  let isEnded = false
  const waiting = new Set<{ version: bigint; settle: (reached: boolean) => void }>()
  const moveTo = (version: bigint): void => {
    current = version
    for (const waiter of waiting) if (waiter.version <= current) waiter.settle(true)
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
    waitFor: (text, timeoutMs) => {
      const version = parse(text)
      if (version === undefined || version <= current) return Promise.resolve(true)
      if (isEnded) return Promise.resolve(false)
      return new Promise((resolve) => {
        const settle = (reached: boolean): void => {
          timer.cancel()
          waiting.delete(waiter)
          resolve(reached)
        }
        const waiter = { version, settle }
        const timer = clock.setTimeout(() => settle(false), timeoutMs)
        waiting.add(waiter)
      })
    },
    end: () => {
      isEnded = true
      for (const waiter of waiting) waiter.settle(false)
    },
  }
}

const parse = (version: string): bigint | undefined => (/^\d{1,30}$/.test(version) ? BigInt(version) : undefined)

/** Reports whether a version of an object is older than another. Returns false if they cannot be compared. */
export const isOlder = (version: string, than: string): boolean => {
  const [a, b] = [parse(version), parse(than)]
  return a !== undefined && b !== undefined && a < b
}
