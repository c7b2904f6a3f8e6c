import type { Happening } from '#shared/kube/events.ts'
import type { Condition } from '#shared/kube/objects.ts'

type WithConditions = { readonly conditions?: readonly Condition[] }

/** Something that is as it should be. */
export const normal = (reason: string, action: string, note: string): Happening => ({
  ...{ type: 'Normal', reason, action, note },
})

/** Something that somebody should look at. */
export const warning = (reason: string, action: string, note: string): Happening => ({
  ...{ type: 'Warning', reason, action, note },
})

/** The condition of that type. */
export const conditionOf = ({ conditions }: WithConditions, type: string): Condition | undefined =>
  conditions?.find((each) => each.type === type)

/** Whether the condition of that type is True. */
export const holds = (status: WithConditions, type: string): boolean => conditionOf(status, type)?.status === 'True'

/** The condition of that type, where it is True now and was not before for the same reason. */
export const newlyHolds = (before: WithConditions, after: WithConditions, type: string): Condition | undefined => {
  const now = conditionOf(after, type)
  if (now?.status !== 'True') return undefined
  return holds(before, type) && conditionOf(before, type)?.reason === now.reason ? undefined : now
}

/** A message as a sentence of its own. */
export const sentence = (message = ''): string =>
  message === '' ? '' : `${message[0]?.toUpperCase()}${message.slice(1)}${/[.!?]$/.test(message) ? '' : '.'}`

/** A word in brackets after others; nothing where there is none. */
export const inBrackets = (text: string | undefined): string => (text ? ` (${text})` : '')

/** What somebody else said, after one's own words; nothing where nothing was said. */
export const afterColon = (text: string | undefined): string => (text ? `: ${text}` : '')
