import { runRequestedMessage } from './endings.ts'

/** A condition of a world, as responses show it. */
export type WhyCondition = {
  readonly type: string
  readonly status: string
  readonly reason: string
  readonly message: string
  /** ISO 8601. */
  readonly lastTransitionAt: string
}

const find = <Condition extends WhyCondition>(
  conditions: readonly Condition[],
  type: string,
  status?: string,
): Condition | undefined =>
  conditions.find((each) => each.type === type && (status === undefined || each.status === status))

/** Reports whether players can enter. */
export const isReady = (conditions: readonly WhyCondition[]): boolean => find(conditions, 'Ready', 'True') !== undefined

/** Returns what the API or the cluster refused. It may be old, and need not be why a world is in its state. */
export const findRefusal = <Condition extends WhyCondition>(
  conditions: readonly Condition[],
): Condition | undefined => {
  const synced = find(conditions, 'Synced', 'False')
  return synced?.reason === 'StartWaits' ? undefined : synced
}

/** The reasons of a Ready that leave nothing to explain. */
const settled = ['ServerReady', 'Stopped', 'NeverStarted']

/**
 * Returns the condition that explains the state of a world: a pause, what is wrong with its server, a start that waits, whether it is
 * ready, or what was refused if nothing else needs an explanation.
 */
export const findCause = <Condition extends WhyCondition>(conditions: readonly Condition[]): Condition | undefined => {
  const first = conditions.find(({ reason }) => reason === 'Paused') ?? find(conditions, 'Degraded', 'True')
  if (first !== undefined) return first
  const ready = find(conditions, 'Ready')
  const refusal = findRefusal(conditions)
  const wait = ready?.status === 'True' || refusal !== undefined ? undefined : find(conditions, 'Synced', 'False')
  if (wait !== undefined) return wait
  // A start that the cluster refuses has no other report.
  const isUnreported = refusal?.reason === 'PushRefused' && ready?.message === runRequestedMessage
  return ready === undefined || settled.includes(ready.reason) || isUnreported ? (refusal ?? ready) : ready
}

/** Reports whether a condition says that something is wrong. A wait is not. */
export const isTrouble = ({ type, reason }: WhyCondition): boolean =>
  type === 'Degraded' || (type === 'Synced' && reason !== 'StartWaits')

/** Returns the cause of a world that needs attention or waits, and undefined for one that runs or rests. */
export const findTrouble = <Condition extends WhyCondition>(
  conditions: readonly Condition[],
): Condition | undefined => {
  const cause = findCause(conditions)
  return cause === undefined || [...settled, 'Completed', 'Expired', 'Idle'].includes(cause.reason) ? undefined : cause
}
