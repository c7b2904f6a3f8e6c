import { optional } from '#api/platform/http/fields.ts'
import { remedyOf } from '#shared/why/remedies.ts'
import type { EventAnswer } from './schema.ts'
import type { EventRow } from './table.ts'

/** Returns an event, of a world or of bots, as it appears in responses. */
export const presentEvent = (
  { id, createdAt, type, reason, message, runId }: EventRow,
  isOfBots: boolean,
): EventAnswer => ({
  id,
  createdAt: createdAt.toISOString(),
  type,
  reason,
  message,
  ...optional('remedy', remedyOf(reason, isOfBots)),
  ...optional('runId', runId),
})
