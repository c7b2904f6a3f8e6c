import * as z from 'zod'
import { exampleId } from '#api/platform/http/examples.ts'
import { boundedText, instant } from '#shared/domain/common.ts'
import { idPattern } from '#shared/ids.ts'

const secondsOrInstant = /^([1-9]\d{0,8}|\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2}))$/

/** The start of a log: a number of seconds before now, or a time. */
export type Since = { readonly sinceSeconds: number } | { readonly sinceTime: string }

const since = boundedText(40)
  .regex(secondsOrInstant, 'must be a number of seconds, such as 300, or a time, such as 2026-01-31T12:00:00Z')
  .transform((text, context): Since => {
    if (/^\d+$/.test(text)) return { sinceSeconds: Number(text) }
    const time = instant().safeParse(text)
    if (time.success) return { sinceTime: new Date(time.data).toISOString() }
    context.addIssue({ code: 'custom', message: 'must be a time that exists, in the years 1970 to 9999 in UTC' })
    return z.NEVER
  })
  .optional()
  .meta({
    description:
      'Start of the log: a number of seconds before now, or a time (RFC 3339). Without it, the log starts with its last 1,000 lines. A kept log is always returned as a whole.',
    examples: ['300'],
  })

const follow = z
  .enum(['', 'true', 'false'])
  .optional()
  .transform((text) => text !== undefined && text !== 'false')
  .meta({
    description: 'Send new lines as they come, for at most 15 minutes. `follow` without a value is true.',
    examples: ['true'],
  })

/** The query of the log of a world. */
export const worldLogQuery = z.object({
  follow,
  since,
  deployment: z
    .string()
    .regex(new RegExp(idPattern('deployment')), 'must be the id of a deployment')
    .optional()
    .meta({
      description: 'The run whose log is read. Without it the newest run.',
      examples: [exampleId('deployment')],
    }),
})

/** The query of the log of a bot. */
export const botLogQuery = z.object({
  follow,
  since,
  bot: z
    .string()
    .regex(/^(0|[1-9]\d{0,4})$/, 'must be a number from 0 to 99999')
    .default('0')
    .transform(Number)
    .meta({ description: 'The number of the bot in the deployment, from 0.', examples: ['0'] }),
})
