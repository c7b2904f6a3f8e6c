import { isDeepStrictEqual } from 'node:util'
import type { Pod } from '#operator/pods/pod.ts'
import { addUse, noUse, type RunUse, subtractUse, useOfRun } from '#shared/domain/runUse.ts'
import type { World } from '#shared/resources/world.ts'
import type { WorldSettings } from './settings.ts'

/**
 * Returns the use of the server of a world. A stopped server counts until its pod is gone or has ended, since it uses the
 * resources of its node until then.
 */
export const useOfServer = (
  world: World | undefined,
  pod: Pod | undefined,
  { profiles }: Pick<WorldSettings, 'profiles'>,
): RunUse => {
  const run = world?.status?.run
  if (run === undefined || pod === undefined || hasEnded(pod)) return noUse
  // A cluster administrator can write any status.
  const profile = profiles[run.profile] as WorldSettings['profiles'][keyof WorldSettings['profiles']] | undefined
  return useOfRun(profile?.capacity ?? 0, run.strategy)
}

const hasEnded = ({ status }: Pod): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed'

/** The use of the servers of each namespace. */
export type ServerUse = {
  /** Sets the use of the server with that key (`namespace/name`). */
  set(key: string, use: RunUse): void
  /** Returns the sum of a namespace. */
  of(namespace: string): RunUse
}

/** Creates the sums, in constant time for each change: a namespace can have thousands of worlds that start at once. */
export const createServerUse = (): ServerUse => {
  const uses = new Map<string, RunUse>()
  const sums = new Map<string, RunUse>()
  const sumOf = (namespace: string): RunUse => sums.get(namespace) ?? noUse
  return {
    set: (key, use) => {
      const before = uses.get(key) ?? noUse
      if (before === use) return
      const namespace = key.slice(0, key.indexOf('/'))
      const sum = addUse(subtractUse(sumOf(namespace), before), use)
      if (use === noUse) uses.delete(key)
      else uses.set(key, use)
      if (isDeepStrictEqual(sum, noUse)) sums.delete(namespace)
      else sums.set(namespace, sum)
    },
    of: sumOf,
  }
}
