import * as z from 'zod'
import { boundedText, instant } from './common.ts'

// Digits and names of three letters only, without the letters that some implementations of cron add, such as L and W.
const field = '(?:[0-9*,/-]|[A-Za-z]{3})+'

const cron = () =>
  boundedText(100)
    .regex(
      new RegExp(`^${field}(?: ${field}){4}$`),
      'must have the five fields of cron, such as 0 18 * * FRI: minute, hour, day of the month, month and day of the week',
    )
    .meta({ examples: ['0 18 * * FRI'] })

const restartFields = {
  at: cron().describe('Times of restarts, as the five fields of cron.'),
  whenEmptyWithinMinutes: z
    .int()
    .min(1)
    .max(1_440)
    .exactOptional()
    .describe(
      'Maximum number of minutes that a restart waits until nobody is in the world. Then, or at the next time of the schedule, it restarts anyway, unless that time is a stop. If absent, it does not wait.',
    ),
}

const fields = {
  timeZone: boundedText(64)
    .regex(/^[A-Za-z][A-Za-z0-9_+/-]*$/, 'must be the name of a time zone, such as Europe/Berlin')
    .meta({ examples: ['Europe/Berlin'] })
    .default('UTC')
    .describe('Time zone of the times, by its name in the IANA database.'),
  start: cron()
    .exactOptional()
    .describe('Times of starts, as the five fields of cron. A world that runs stays as it is.'),
  stop: cron().exactOptional().describe('Times of stops, as the five fields of cron.'),
}

const scheduleText =
  'Times at which the API starts, stops and restarts the world. Of actions at the same time, the stop comes first and the restart last.'

const restartText = 'Restarts of the world while it runs. A restart is a new run.'

/** The schedule of a world. An edit takes effect at once. */
export const schedule = z
  .object({ ...fields, restart: z.object(restartFields).exactOptional().describe(restartText) })
  .describe(scheduleText)

/** `schedule` in a request over REST, which refuses unknown fields. */
export const requestedSchedule = z
  .strictObject({ ...fields, restart: z.strictObject(restartFields).exactOptional().describe(restartText) })
  .describe(scheduleText)

export type Schedule = z.output<typeof schedule>

/** The actions of a schedule, in the order in which those of the same time are done. */
export const scheduledActions = ['stop', 'start', 'restart'] as const

export type ScheduledAction = (typeof scheduledActions)[number]

/** The next action of a schedule. */
export const nextAction = z
  .object({
    what: z.enum(scheduledActions).describe('Action of the schedule.'),
    at: instant().describe('Time of the action.'),
    by: instant()
      .exactOptional()
      .describe('Time until which a restart waits for the world to be empty. Absent if it does not wait.'),
  })
  .describe('Next action of the schedule. Absent without a schedule.')

export type NextAction = z.output<typeof nextAction>

/** The rule that a schedule has an action, for REST and for the API server. */
export const scheduleRule = {
  isKept: ({ schedule }: { readonly schedule?: Partial<Schedule> | undefined }): boolean =>
    schedule === undefined || [schedule.start, schedule.stop, schedule.restart].some((each) => each !== undefined),
  /** In CEL; `self` is the spec of a World. */
  rule: '!has(self.schedule) || has(self.schedule.start) || has(self.schedule.stop) || has(self.schedule.restart)',
  message: 'schedule must have start, stop or restart: set one of them, or remove schedule',
} as const
