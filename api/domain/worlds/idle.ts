import type { InputFault } from '#api/platform/http/problem.ts'
import { idleRule } from '#shared/domain/idle.ts'
import type { Runtime } from './schema.ts'
import { type Programmed, programOf } from './transitions.ts'

/** Returns the fault of a world with idleStopMinutes whose program does not say its players, or undefined if it does. */
export const explainIdle = (world: Programmed): InputFault | undefined => {
  const { probes = true } = programOf(world)
  return idleRule.isKept({ ...world.runtime, probes })
    ? undefined
    : { path: '/runtime/idleStopMinutes', message: idleRule.message }
}

/**
 * Returns the runtime of a new world, with the default of its organization if the body has no idleStopMinutes. A program that does not say
 * its players gets no default.
 */
export const withDefaultIdle = <R extends Runtime>(
  world: Programmed & { readonly runtime: R },
  minutes: number | null,
): R => {
  const { runtime } = world
  if (minutes === null || runtime.idleStopMinutes !== undefined) return runtime
  const idle = { ...runtime, idleStopMinutes: minutes }
  return explainIdle({ ...world, runtime: idle }) === undefined ? idle : runtime
}
