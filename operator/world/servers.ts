import { isDeepStrictEqual } from 'node:util'
import { type Pod, runIdOf } from '#operator/pods/pod.ts'
import {
  addUse,
  explainRunLimit,
  maxUse,
  noUse,
  type RunLimits,
  type RunUse,
  subtractUse,
  useOfRun,
} from '#shared/domain/runUse.ts'
import { readWorldSpec } from '#shared/resources/read.ts'
import type { World } from '#shared/resources/world.ts'
import { observeRun } from './observe.ts'
import type { WorldSettings } from './settings.ts'

/**
 * Returns the use of a world as the caches show it: that of its run until the run has ended, and after that until its pod is
 * gone or has ended, since the server uses the resources of its node until then.
 */
export const useOfServer = (world: World, pod: Pod | undefined, settings: WorldSettings): RunUse => {
  const recorded = world.status?.run
  if (recorded !== undefined && recorded.endReason === undefined) return useOf(recorded, settings)
  if (pod === undefined || hasEnded(pod)) return noUse
  if (recorded?.id === runIdOf(pod)) return useOf(recorded, settings)
  const spec = readWorldSpec(world.spec).value
  return useOf(observeRun({ world: { ...world, spec }, pod, settings, nowMs: 0 }), settings)
}

type Sized = Pick<NonNullable<ReturnType<typeof observeRun>>, 'profile' | 'strategy'>

/** Returns the use of a run. A cluster administrator can write any status, so the profile may be unknown. */
const useOf = (run: Sized | undefined, { profiles }: Pick<WorldSettings, 'profiles'>): RunUse => {
  const profile = run && (profiles[run.profile] as WorldSettings['profiles'][Sized['profile']] | undefined)
  return run === undefined ? noUse : useOfRun(profile?.capacity ?? 0, run.strategy)
}

/** Reports whether no container of a pod runs any more. */
export const hasEnded = ({ status }: Pod): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed'

/** The use of the worlds of each namespace, with what is reserved for runs that begin. A key is `namespace/name`. */
export type ServerUse = {
  /** Sets the use of a world as the caches show it. */
  set(key: string, use: RunUse): void
  /** Returns the use of the other worlds of the namespace. */
  othersOf(key: string): RunUse
  /** Reserves the use of a run that begins, or nothing with `noUse`. It counts until the next call for the same world. */
  reserve(key: string, use: RunUse): void
  /** Reserves nothing, until there is room for that use: then reserves it and calls `retry`, for the world that waits longest first. */
  wait(key: string, use: RunUse, limits: RunLimits): void
  /** Sets the limits for the worlds of a namespace that wait. */
  limit(namespace: string, limits: RunLimits): void
}

/** The worlds of a namespace that wait, with the use that each needs, in the order in which they began to wait. */
type Line = { limits: RunLimits; readonly uses: Map<string, RunUse> }

/** Creates the sums. A change takes constant time unless it frees room for which worlds wait: thousands may start at once. */
export const createServerUse = (retry: (key: string) => void): ServerUse => {
  const shown = new Map<string, RunUse>()
  const reserved = new Map<string, RunUse>()
  const sums = new Map<string, RunUse>()
  const lines = new Map<string, Line>()

  const useOf = (key: string): RunUse => maxUse(shown.get(key) ?? noUse, reserved.get(key) ?? noUse)
  const othersOf = (key: string): RunUse => subtractUse(sums.get(namespaceOf(key)) ?? noUse, useOf(key))
  /** Sets a use, and gives the room that it leaves to the line. */
  const write = (uses: Map<string, RunUse>, key: string, use: RunUse): void => {
    const [before, others] = [useOf(key), othersOf(key)]
    if (isDeepStrictEqual(use, noUse)) uses.delete(key)
    else uses.set(key, use)
    const sum = addUse(others, useOf(key))
    if (isDeepStrictEqual(sum, noUse)) sums.delete(namespaceOf(key))
    else sums.set(namespaceOf(key), sum)
    if (!isDeepStrictEqual(maxUse(before, useOf(key)), useOf(key))) serve(namespaceOf(key))
  }
  /** Gives room to the worlds of a line that fit into it. One that does not fit is passed over. */
  const serve = (namespace: string): void => {
    const line = lines.get(namespace)
    for (const [key, use] of line?.uses ?? []) {
      if (line === undefined || explainRunLimit(use, othersOf(key), line.limits) !== undefined) continue
      leave(key)
      write(reserved, key, use)
      retry(key)
    }
  }
  const leave = (key: string): void => {
    const line = lines.get(namespaceOf(key))
    line?.uses.delete(key)
    if (line?.uses.size === 0) lines.delete(namespaceOf(key))
  }
  return {
    set: (key, use) => write(shown, key, use),
    othersOf,
    reserve: (key, use) => {
      leave(key)
      write(reserved, key, use)
    },
    wait: (key, use, limits) => {
      const line = lines.get(namespaceOf(key)) ?? { limits, uses: new Map() }
      lines.set(namespaceOf(key), line)
      line.limits = limits
      line.uses.set(key, use)
      write(reserved, key, noUse)
    },
    limit: (namespace, limits) => {
      const line = lines.get(namespace)
      if (line === undefined) return
      line.limits = limits
      serve(namespace)
    },
  }
}

const namespaceOf = (key: string): string => key.slice(0, key.indexOf('/'))
