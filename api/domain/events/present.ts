import { optional } from '#api/platform/http/fields.ts'
import { remedyOf } from '#shared/resources/remedies.ts'
import type { EventAnswer } from './schema.ts'
import type { EventRow } from './table.ts'

/** Returns an event as it appears in responses. */
export const presentEvent = ({ id, createdAt, type, reason, message, runId }: EventRow): EventAnswer => ({
  id,
  createdAt: createdAt.toISOString(),
  type,
  reason,
  message,
  ...optional('remedy', remedyOf(reason)),
  ...optional('runId', runId),
})
