import * as z from 'zod'
import { exampleId, exampleInstant } from '#api/platform/http/examples.ts'
import { shownId, shownInstant } from '#api/platform/http/fields.ts'
import { eventTypes } from './table.ts'

/** An event of a world or a bot deployment in responses. */
export const eventAnswer = z
  .object({
    id: shownId('event'),
    createdAt: shownInstant('Time when the API recorded the event.'),
    type: z.enum(eventTypes).describe('Normal, or Warning if it needs attention.'),
    reason: z.string().describe('Stable word for what happened, for programs.'),
    message: z.string().describe('Description of the event, for people.'),
    remedy: z.string().exactOptional().describe('Remedy, for people. Absent if none is needed.'),
    runId: shownId('run').exactOptional().describe('Identifier of the run that the event belongs to.'),
  })
  .meta({
    id: 'Event',
    examples: [
      {
        id: exampleId('event'),
        createdAt: exampleInstant,
        type: 'Normal',
        reason: 'Ready',
        message: 'The server is ready at 192.0.2.10:7777.',
        runId: exampleId('run'),
      },
    ],
  })

export type EventAnswer = z.output<typeof eventAnswer>
