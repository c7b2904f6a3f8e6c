import { isDeepStrictEqual } from 'node:util'
import { type Amounts, addUse, maxUse, subtractUse } from '#shared/domain/use.ts'

/**
 * The use of the resources of each namespace. A resource counts with what the caches show or with its reservation, whichever
 * is higher. A key is `namespace/name`.
 */
export type UseSums<Use> = {
  /** Returns the use of a resource as the caches show it. */
  shownOf(key: string): Use
  /** Returns the use of the other resources of the namespace. */
  othersOf(key: string): Use
  /** Sets the use of a resource as the caches show it. */
  show(key: string, use: Use): void
  /** Reserves a use for a resource. The reservation counts until the next call for the same resource. */
  reserve(key: string, use: Use): void
}

/**
 * Creates the sums. A change takes constant time, because a namespace can have thousands of resources. `freed` is called
 * after each change that leaves more room in a namespace. `none` is the use of nothing.
 */
export const createUseSums = <Use extends Amounts<Use>>(
  none: Use,
  freed: (namespace: string) => void = () => undefined,
): UseSums<Use> => {
  const shown = new Map<string, Use>()
  const reserved = new Map<string, Use>()
  const sums = new Map<string, Use>()
  const set = (uses: Map<string, Use>, key: string, use: Use): void => {
    if (isDeepStrictEqual(use, none)) uses.delete(key)
    else uses.set(key, use)
  }
  const countedOf = (key: string): Use => maxUse(shown.get(key) ?? none, reserved.get(key) ?? none)
  const othersOf = (key: string): Use => subtractUse(sums.get(namespaceOf(key)) ?? none, countedOf(key))
  const change = (uses: Map<string, Use>, key: string, use: Use): void => {
    const [before, others] = [countedOf(key), othersOf(key)]
    set(uses, key, use)
    const after = countedOf(key)
    set(sums, namespaceOf(key), addUse(others, after))
    if (!isDeepStrictEqual(maxUse(before, after), after)) freed(namespaceOf(key))
  }
  return {
    shownOf: (key) => shown.get(key) ?? none,
    othersOf,
    show: (key, use) => change(shown, key, use),
    reserve: (key, use) => change(reserved, key, use),
  }
}

/** Returns the namespace of a key. */
export const namespaceOf = (key: string): string => key.slice(0, key.indexOf('/'))
