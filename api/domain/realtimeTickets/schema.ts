import * as z from 'zod'
import { exampleInstant } from '#api/platform/http/examples.ts'
import { shownInstant } from '#api/platform/http/fields.ts'

/** The answer of `POST /api/realtime/tickets/`. */
export const createdTicket = z
  .object({
    ticket: z.string().describe('The ticket for the header x-realtime-ticket of one handshake. It is shown once.'),
    expiresAt: shownInstant('Time from which the ticket is refused.'),
  })
  .meta({ id: 'RealtimeTicket', examples: [{ ticket: `ort_${'*'.repeat(12)}`, expiresAt: exampleInstant }] })

export type CreatedTicket = z.output<typeof createdTicket>
