import { createUseSums, namespaceOf } from '#operator/lifecycle/useSums.ts'
import { type Pod, runIdOf } from '#operator/pods/pod.ts'
import { explainRunLimit, noUse, type RunLimits, type RunUse, useOfRun } from '#shared/domain/runUse.ts'
import type { World } from '#shared/resources/world.ts'
import { observeRun } from './observe.ts'
import type { WorldSettings } from './settings.ts'

/**
 * Returns the use of a world as the caches show it. A run counts until it has ended and its pod is gone or has ended, because the
 * server uses resources of its node until then.
 */
export const useOfServer = (world: World, pod: Pod | undefined, settings: WorldSettings): RunUse => {
  const recorded = world.status?.run
  if (recorded !== undefined && recorded.endReason === undefined) return useOf(recorded, settings)
  if (pod === undefined || hasEnded(pod)) return noUse
  if (recorded?.id === runIdOf(pod)) return useOf(recorded, settings)
  return useOf(observeRun({ world, pod, settings, nowMs: 0 }), settings)
}

type Sized = Pick<NonNullable<ReturnType<typeof observeRun>>, 'profile' | 'strategy'>

/** Returns the use of a run. A cluster administrator can write any status, so the profile may be unknown. */
const useOf = (run: Sized | undefined, { profiles }: Pick<WorldSettings, 'profiles'>): RunUse => {
  const profile = run && (profiles[run.profile] as WorldSettings['profiles'][Sized['profile']] | undefined)
  return run === undefined ? noUse : useOfRun(profile?.capacity ?? 0, run.strategy)
}

/** Reports whether no container of a pod runs any more. */
export const hasEnded = ({ status }: Pod): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed'

/** The use of the worlds of each namespace, with the reservations of runs that begin. A key is `namespace/name`. */
export type ServerUse = {
  /** Sets the use of a world as the caches show it. */
  set(key: string, use: RunUse): void
  /** Returns the use of the other worlds of the namespace. */
  othersOf(key: string): RunUse
  /** Reserves the use of a run that begins, or nothing with `noUse`. The world no longer waits. */
  reserve(key: string, use: RunUse): void
  /** Makes the world wait. When there is room, reserves the use and calls `retry`, first for the world that waits longest. */
  wait(key: string, use: RunUse, limits: RunLimits): void
  /** Sets the limits for the worlds of a namespace that wait. */
  limit(namespace: string, limits: RunLimits): void
}

/** The worlds of a namespace that wait, with the use that each needs, in the order in which they began to wait. */
type Waiting = { limits: RunLimits; readonly uses: Map<string, RunUse> }

/** Creates the sums. When a change leaves more room in a namespace, the worlds that wait there get it. */
export const createServerUse = (retry: (key: string) => void): ServerUse => {
  const waiting = new Map<string, Waiting>()
  /** Gives room to the worlds that wait. One that needs more than there is is passed over. */
  const serve = (namespace: string): void => {
    const { limits, uses } = waiting.get(namespace) ?? {}
    for (const [key, use] of uses ?? []) {
      if (limits === undefined || explainRunLimit(use, sums.othersOf(key), limits) !== undefined) continue
      stopWaiting(key)
      sums.reserve(key, use)
      retry(key)
    }
  }
  const stopWaiting = (key: string): void => {
    const namespace = namespaceOf(key)
    const uses = waiting.get(namespace)?.uses
    uses?.delete(key)
    if (uses?.size === 0) waiting.delete(namespace)
  }
  const sums = createUseSums(noUse, serve)
  return {
    set: sums.show,
    othersOf: sums.othersOf,
    reserve: (key, use) => {
      stopWaiting(key)
      sums.reserve(key, use)
    },
    wait: (key, use, limits) => {
      const here = waiting.get(namespaceOf(key)) ?? { limits, uses: new Map() }
      waiting.set(namespaceOf(key), here)
      here.limits = limits
      here.uses.set(key, use)
      sums.reserve(key, noUse)
    },
    limit: (namespace, limits) => {
      const here = waiting.get(namespace)
      if (here === undefined) return
      here.limits = limits
      serve(namespace)
    },
  }
}
