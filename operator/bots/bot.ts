import { explainDisruption, explainFailure } from '#operator/pods/diagnosis.ts'
import type { Pod } from '#operator/pods/pod.ts'
import { endOf, isReady } from '#operator/pods/podState.ts'
import { lowerFirst } from '#shared/why/wording.ts'
import { addressOf, restartsOf } from './pod.ts'
import { type Ends, nextRestart, type Restart } from './run.ts'
import type { PlanInput } from './step.ts'

/**
 * The decision about one bot of the run:
 * - `delete`: there are too many, its end is recorded, or the world has another address;
 * - `recordCompletion`, `recordFailure`: its end is recorded first, with the next restart if there is one;
 * - `ready`, `starting`: it stays.
 */
export type Decision =
  | { readonly kind: 'delete' | 'recordCompletion' | 'ready' | 'starting' }
  | {
      readonly kind: 'recordFailure'
      readonly restart: Restart | undefined
      readonly failure: string
      readonly detail: string | undefined
    }

/** Everything that the decision depends on. */
export type BotInput = Pick<PlanInput, 'settings' | 'nowMs'> & {
  readonly index: number
  readonly pod: Pod
  readonly ends: Ends
  /** The number of bots that may exist: those with the lowest indexes. */
  readonly allowed: number
  /** The world's address; undefined while it has no server. */
  readonly address: string | undefined
}

/** Decides about one bot of the run, from its input alone. */
export const decideBot = (input: BotInput): Decision => {
  const { index, pod, ends, allowed, address } = input
  if (index >= allowed || ends.completed.has(index) || ends.failed.has(index)) return { kind: 'delete' }
  const end = endOf(pod, 'bot')
  if (end === 'Succeeded') return { kind: 'recordCompletion' }
  const hasMoved = address !== undefined && addressOf(pod) !== address
  if (end === 'Failed') {
    // A bot that ended because the server was lost, or because the cluster removed its pod, has not failed.
    const isExcused = hasMoved || address === undefined || explainDisruption(pod, 'bot') !== undefined
    return isExcused || isCounted(ends, index, pod) ? { kind: 'delete' } : recordFailure(input)
  }
  if (hasMoved) return { kind: 'delete' }
  return { kind: isReady(pod) ? 'ready' : 'starting' }
}

/** Reports whether the failure of this pod is recorded: the pending restart then has a higher number than the pod. */
export const isCounted = ({ restarting }: Ends, index: number, pod: Pod): boolean =>
  (restarting.get(index)?.restarts ?? 0) > restartsOf(pod)

const recordFailure = ({ index, pod, settings, nowMs }: BotInput): Decision => {
  const { message, detail } = explainFailure(pod, 'bot')
  const restart = nextRestart(pod, settings, nowMs)
  return { kind: 'recordFailure', restart, failure: `Bot ${index}: ${lowerFirst(message)}`, detail }
}
