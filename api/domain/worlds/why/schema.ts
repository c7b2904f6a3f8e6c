import * as z from 'zod'
import { exampleId, exampleInstant } from '#api/platform/http/examples.ts'
import { shownId, shownInstant } from '#api/platform/http/fields.ts'
import { actionKinds, editedFields } from '#shared/why/reasons.ts'
import { maxOthers, whyStates } from '#shared/why/why.ts'

const cause =
  'Failed 4 times; last error: the server exceeded its memory limit of 4Gi. Choose a larger scaling profile.'
const profile = 'networking.scaling.profile'

/** The explanation of a world's state in responses. */
export const whyAnswer = z
  .object({
    worldId: shownId('world'),
    state: z
      .enum(whyStates)
      .describe(
        'Running; Starting, also while a start waits or the server is replaced; Stopped; Failed, until a user acts; NeedsAttention, if something is wrong that may not resolve by itself.',
      ),
    summary: z.string().describe('The state in a sentence, with the name of the world.'),
    cause: z.string().describe('Message of the condition that decides. Empty if the summary says it all.'),
    remedy: z.string().exactOptional().describe('Remedy, for people. Absent if none is needed.'),
    reason: z
      .string()
      .describe(
        'Reason of that condition, for programs. Empty for a running world without trouble, and without conditions.',
      ),
    since: shownInstant('Time when the status of that condition last changed. Absent if unknown.').exactOptional(),
    runId: shownId('run').exactOptional().describe('Identifier of the newest run. Absent without one.'),
    restarts: z
      .int()
      .exactOptional()
      .describe('Number of failures of the run that use up the restart budget. Absent without a run.'),
    exitCode: z.int().exactOptional().describe('Exit code of the server that ended last. Absent if none has.'),
    others: z
      .int()
      .min(0)
      .max(maxOthers + 1)
      .exactOptional()
      .describe(
        `Number of other worlds of the organization that the caller can read and that have a condition with the same type, status and reason, at most 5 s ago. ${maxOthers + 1} means more than ${maxOthers}. 0 for a wait, or if nothing is wrong. Absent if they could not be counted in time.`,
      ),
    sentence: z.string().describe('All of it in plain English.'),
    actions: z
      .array(
        z.object({
          kind: z.enum(actionKinds).describe('Kind of action.'),
          field: z
            .enum(editedFields)
            .exactOptional()
            .describe('Member of the body of `patchWorld` that an edit changes. Absent for other kinds.'),
        }),
      )
      .describe(
        'Actions that resolve it, the most promising first. Starts and restarts follow the edits that they put into effect.',
      ),
  })
  .meta({
    id: 'WorldExplanation',
    examples: [
      {
        worldId: exampleId('world'),
        state: 'Failed',
        summary: 'Lobby is not running.',
        cause,
        remedy: 'Choose Capacity100 (6Gi) or a larger scaling profile.',
        reason: 'OutOfMemory',
        since: exampleInstant,
        runId: exampleId('run'),
        restarts: 4,
        exitCode: 137,
        others: 13,
        sentence:
          'Lobby is not running: its server failed 4 times in 6 minutes and is not restarted any more. The last time it exceeded its memory limit of 4Gi (exit code 137). Choose Capacity100 (6Gi) or a larger scaling profile, then start it. 13 other worlds have this problem.',
        actions: [{ kind: 'edit', field: profile }, { kind: 'start' }, { kind: 'readLog' }],
      },
    ],
  })

export type WhyAnswer = z.output<typeof whyAnswer>
