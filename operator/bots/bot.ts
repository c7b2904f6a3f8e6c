import { explainFailure, isReady, wasDisrupted } from './diagnosis.ts'
import { addressOf, type BotPod, restartsOf } from './pod.ts'
import { type Memory, nextRestart, type Restart } from './run.ts'
import type { PlanInput } from './step.ts'

/**
 * What becomes of a bot that exists in this run:
 * - `goes`: its pod is deleted, since it is too many, its end is recorded, or it cannot reach its world any more;
 * - `completed`, `failed`: its end is to be recorded first, and with a failure when it is made again, if it is;
 * - `ready`, `starting`: it stays.
 */
export type Fate =
  | { readonly kind: 'goes' | 'completed' | 'ready' | 'starting' }
  | { readonly kind: 'failed'; readonly restart: Restart | undefined; readonly failure: string }

export type BotInput = Pick<PlanInput, 'settings' | 'nowMs'> & {
  readonly index: number
  readonly pod: BotPod
  readonly memory: Memory
  /** How many bots may exist; the lowest indexes do. */
  readonly allowed: number
  /** Where the world is now; undefined while its server is away. */
  readonly address: string | undefined
}

/** Decides about one bot. */
export const fateOf = (input: BotInput): Fate => {
  const { index, pod, memory, allowed, address } = input
  if (index >= allowed || memory.completed.has(index) || memory.failed.has(index)) return { kind: 'goes' }
  if (pod.status?.phase === 'Succeeded') return { kind: 'completed' }
  const hasMoved = address !== undefined && addressOf(pod) !== address
  if (pod.status?.phase === 'Failed') {
    // A bot whose world lost its server did not fail by itself, nor did one that the cluster took away.
    const isExcused = hasMoved || address === undefined || wasDisrupted(pod)
    return isExcused || isCounted(memory, index, pod) ? { kind: 'goes' } : failureOf(input)
  }
  if (hasMoved) return { kind: 'goes' }
  return { kind: isReady(pod) ? 'ready' : 'starting' }
}

/** Whether the failure of this very pod is recorded: its successor bears a higher number of restarts. */
export const isCounted = ({ restarting }: Memory, index: number, pod: BotPod): boolean =>
  (restarting.get(index)?.restarts ?? 0) > restartsOf(pod)

const failureOf = ({ index, pod, settings, nowMs }: BotInput): Fate => ({
  kind: 'failed',
  restart: nextRestart(pod, settings, nowMs),
  failure: `bot ${index} failed: ${explainFailure(pod)}`,
})
