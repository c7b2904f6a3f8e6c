import type { StoredCondition } from './conditions.ts'
import type { EventDraft } from './table.ts'

/** Returns an event of the ordinary life of a world or a bot deployment. */
export const normalEvent = (reason: string, message: string): EventDraft => ({ type: 'Normal', reason, message })

/** Returns an event that needs attention. */
export const warningEvent = (reason: string, message: string): EventDraft => ({ type: 'Warning', reason, message })

/** Reports whether the condition Ready is True now and was not before. */
export const isNewlyReady = (before: readonly StoredCondition[], after: readonly StoredCondition[]): boolean =>
  isReady(after) && !isReady(before)

const isReady = (conditions: readonly StoredCondition[]): boolean =>
  conditions.some(({ type, status }) => type === 'Ready' && status === 'True')

/**
 * Returns an event for each trouble that is new or has another reason or message than before, such as the next restart. Two
 * conditions with the same message, or the same reason, give one event.
 */
export const troubleEvents = (
  before: readonly StoredCondition[],
  after: readonly StoredCondition[],
  reported: readonly EventDraft[] = [],
): EventDraft[] => {
  const known = before.filter(isTrouble)
  const isKnown = ({ type, reason, message }: StoredCondition): boolean =>
    known.some((each) => each.type === type && each.reason === reason && each.message === message)
  const events: EventDraft[] = []
  for (const condition of after.filter(isTrouble)) {
    const { reason, message } = condition
    const isRepeated = [...reported, ...events].some((each) => each.reason === reason || each.message === message)
    if (!isKnown(condition) && !isRepeated) events.push(warningEvent(reason, message))
  }
  return events
}

const isTrouble = ({ type, status }: StoredCondition): boolean => {
  if (type === 'Synced') return status === 'False'
  return (type === 'Degraded' || type === 'LimitExceeded') && status === 'True'
}
