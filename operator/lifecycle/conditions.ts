import type { Diagnosis } from '#operator/pods/diagnosis.ts'
import { setCondition } from '#shared/kube/conditions.ts'
import type { Condition } from '#shared/kube/objects.ts'
import { pausedAnnotation } from '#shared/resources/group.ts'

/** The conditions of every resource; a resource may have others of its own. */
const commonTypes = ['Ready', 'Progressing', 'Degraded'] as const
const allTypes: readonly string[] = [...commonTypes, 'LimitExceeded', 'Responding', 'Idle']

/** The longest message of a status or a condition, in UTF-16 code units. */
export const maxMessageLength = 4_096

/** The part of a plan's outcome that the conditions show. */
export type Verdict = {
  /** A CamelCase word for programs. */
  readonly reason: string
  readonly message: string
  /** `Unknown` while the node of a server does not report. */
  readonly ready?: boolean | 'Unknown'
  readonly progressing?: boolean
  /** The reason if the resource is Degraded. */
  readonly trouble?: Pick<Diagnosis, 'reason' | 'message' | 'detail'> | undefined
}

/** A condition without its transition time and generation. */
export type ConditionState = {
  readonly type: string
  readonly holds: boolean | 'Unknown'
  readonly reason: string
  readonly message: string
}

type Seen = { readonly observedGeneration: number; readonly nowMs: number }

/** Returns the operator's own conditions. Conditions of other types belong to other writers. */
export const ownConditions = (conditions: readonly Condition[] | undefined): Condition[] =>
  (conditions ?? []).filter(({ type }) => allTypes.includes(type))

/** Returns the operator's conditions after a plan, `more` included. The time of a condition changes only with its status. */
export const updateConditions = (
  existing: readonly Condition[] = [],
  verdict: Verdict,
  seen: Seen,
  more: readonly ConditionState[] = [],
): Condition[] => {
  const states = [...statesOf(verdict), ...more]
  const kept = existing.filter(({ type }) => states.some((state) => state.type === type))
  return setStates(kept, states, seen)
}

const statesOf = ({ reason, message, ready = false, progressing = false, trouble }: Verdict): ConditionState[] => [
  { type: 'Ready', holds: ready, reason, message },
  // A problem is explained by Ready and Degraded; Progressing would repeat the same sentences.
  { type: 'Progressing', holds: progressing, reason, message: trouble === undefined ? message : '' },
  trouble === undefined
    ? { type: 'Degraded', holds: false, reason: 'AsExpected', message: '' }
    : { type: 'Degraded', holds: true, reason: trouble.reason, message: trouble.message },
]

const setStates = (existing: readonly Condition[], states: readonly ConditionState[], seen: Seen): Condition[] =>
  states.reduce((all, state) => setState(all, state, seen), [...existing])

const setState = (all: readonly Condition[], state: ConditionState, { observedGeneration, nowMs }: Seen) => {
  const { type, holds, reason, message } = state
  const status = holds === 'Unknown' ? 'Unknown' : holds ? 'True' : 'False'
  return setCondition(
    all,
    { type, status, reason, message: message.slice(0, maxMessageLength), observedGeneration },
    nowMs,
  )
}

type StatusBase = { message?: string; observedGeneration?: number; conditions?: Condition[] }

/** Returns the status of a paused resource: unchanged, but for its message and the condition Progressing. */
export const pausedStatus = <Status extends StatusBase>(status: Status, nowMs: number): Status => {
  const message = `Paused: remove the annotation ${pausedAnnotation} to continue.`
  const state = { type: 'Progressing', holds: false, reason: 'Paused', message }
  // Edits since the pause are not acted upon, so the generation stays.
  const observedGeneration = status.observedGeneration ?? 0
  return {
    ...status,
    message,
    conditions: setState(ownConditions(status.conditions), state, { observedGeneration, nowMs }),
  }
}

/**
 * Returns the planned status with a refusal of the API server in it. The same refusal again gives an equal status, so a
 * retry writes nothing.
 */
export const refusedStatus = <Status extends StatusBase>(
  existing: Status | undefined,
  planned: Status,
  { reason, message, detail }: Pick<Diagnosis, 'reason' | 'message' | 'detail'>,
  nowMs: number,
): Status => {
  const isCommon = ({ type }: Condition): boolean => commonTypes.some((each) => each === type)
  // The existing conditions may show the same refusal, so their transition times are kept.
  const before = [
    ...(existing?.conditions ?? []).filter(isCommon),
    ...(planned.conditions ?? []).filter((condition) => !isCommon(condition)),
  ]
  const verdict = { reason, message, progressing: true, trouble: { reason, message, ...(detail && { detail }) } }
  const seen = { observedGeneration: planned.observedGeneration ?? 0, nowMs }
  return {
    ...planned,
    message: message.slice(0, maxMessageLength),
    conditions: setStates(before, statesOf(verdict), seen),
  }
}
