import type { EventInput } from '#shared/kube/events.ts'
import type { Condition } from '#shared/kube/objects.ts'
import { joinSentences } from './message.ts'

type WithConditions = { readonly conditions?: readonly Condition[] }

/** An event of the ordinary life of a resource. */
export const normalEvent = (reason: string, action: string, note: string): EventInput => ({
  type: 'Normal',
  reason,
  action,
  note,
})

/** An event that needs attention. Its note has the detail that the status leaves out. */
export const warningEvent = (
  reason: string,
  action: string,
  message: string | undefined,
  detail: string | undefined,
): EventInput => ({ type: 'Warning', reason, action, note: joinSentences(message, detail && `Cause: ${detail}`) })

/** Returns the condition of that type. */
export const findCondition = ({ conditions }: WithConditions, type: string): Condition | undefined =>
  conditions?.find((condition) => condition.type === type)

/** Reports whether the condition of that type is True. */
export const isTrue = (status: WithConditions, type: string): boolean => findCondition(status, type)?.status === 'True'

/** Returns the condition of that type if it became True, or is True for another reason than before. */
export const findNewlyTrue = (before: WithConditions, after: WithConditions, type: string): Condition | undefined => {
  const now = findCondition(after, type)
  if (now?.status !== 'True') return undefined
  return isTrue(before, type) && findCondition(before, type)?.reason === now.reason ? undefined : now
}
