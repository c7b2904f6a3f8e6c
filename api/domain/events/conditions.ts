import * as z from 'zod'
import { exampleInstant } from '#api/platform/http/examples.ts'
import { optional, shownInstant } from '#api/platform/http/fields.ts'
import type { Condition } from '#shared/kube/objects.ts'
import { remedyOf } from '#shared/why/remedies.ts'

/** The types of condition that responses show. A resource may have others, which belong to other writers. */
const conditionTypes = ['Ready', 'Progressing', 'Degraded', 'LimitExceeded', 'Responding', 'Idle', 'Synced'] as const

/** A condition as a row stores it. Its message has fixed sentences of the operator or the API. */
export type StoredCondition = {
  readonly type: (typeof conditionTypes)[number]
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason: string
  readonly message: string
  /** Time when the status of the condition last changed: ISO 8601, UTC, milliseconds. */
  readonly lastTransitionAt: string
}

/** A condition in responses. */
export const conditionAnswer = z
  .object({
    type: z
      .enum(conditionTypes)
      .describe(
        'Ready: players can enter, or all bots run. Progressing: a change is under way. Degraded: something is wrong. LimitExceeded: more bots are wanted than the world allows. Responding: the server answers its query. Idle: Unknown if the world does not sleep because its players are unknown. Synced: False if an edit with kubectl was refused, or if a start with kubectl waits.',
      ),
    status: z.enum(['True', 'False', 'Unknown']).describe('Status of the condition.'),
    reason: z.string().describe('Stable word for the status, for programs.'),
    message: z.string().describe('Details for people. Empty if there are none.'),
    remedy: z.string().exactOptional().describe('Remedy, for people. Absent if none is needed.'),
    lastTransitionAt: shownInstant('Time when the status of the condition last changed.'),
  })
  .meta({
    id: 'Condition',
    examples: [
      {
        type: 'Degraded',
        status: 'True',
        reason: 'Unschedulable',
        message: 'No node has room for the server. Choose a smaller scaling profile, or ask the platform operator.',
        remedy: 'Choose a smaller size, or ask the platform operator.',
        lastTransitionAt: exampleInstant,
      },
    ],
  })

/** Returns the conditions of a status in the form of the row, sorted by type. */
export const readConditions = (conditions: readonly Condition[] = []): StoredCondition[] =>
  conditions
    .flatMap(({ type, status, reason, message, lastTransitionTime }) => {
      const known = conditionTypes.find((each) => each === type)
      const at = new Date(lastTransitionTime)
      if (known === undefined || Number.isNaN(at.getTime())) return []
      return [{ type: known, status, reason, message, lastTransitionAt: at.toISOString() }]
    })
    .sort((a, b) => (a.type < b.type ? -1 : 1))

/** Returns the conditions of a row, of a world or of bots, as they appear in responses. */
export const presentConditions = (
  conditions: readonly StoredCondition[],
  isOfBots = false,
): z.output<typeof conditionAnswer>[] =>
  conditions.map(({ type, status, reason, message, lastTransitionAt }) => ({
    type,
    status,
    reason,
    message,
    ...optional('remedy', remedyOf(reason, isOfBots)),
    lastTransitionAt,
  }))

/**
 * Returns the conditions after a start or stop, until the operator reports: not Ready, Progressing, and without those of the
 * previous run. The condition Synced is not changed.
 */
export const requestedConditions = (
  before: readonly StoredCondition[],
  { reason, message }: Pick<StoredCondition, 'reason' | 'message'>,
  now: Date,
): StoredCondition[] => {
  const set = (type: StoredCondition['type'], status: StoredCondition['status']): StoredCondition => {
    const previous = before.find((each) => each.type === type)
    const lastTransitionAt = previous?.status === status ? previous.lastTransitionAt : now.toISOString()
    return { type, status, reason, message, lastTransitionAt }
  }
  return [set('Progressing', 'True'), set('Ready', 'False'), ...before.filter(({ type }) => type === 'Synced')]
}
