import { isDeepStrictEqual } from 'node:util'
import { Cron } from 'croner'
import type { InputFault } from '#api/platform/http/problem.ts'
import { isRunning } from '#shared/domain/phases.ts'
import { type NextAction, type Schedule, type ScheduledAction, scheduleRule } from '#shared/domain/schedule.ts'
import type { WorldRow } from './table.ts'
import { needsAction } from './transitions.ts'

/** The age up to which a missed time is caught up. */
const maxLateMs = 3_600_000

/** Returns the times of each action as text, with the path of its field, in the order in which those of the same time are done. */
const timesOf = ({
  start,
  stop,
  restart,
}: Schedule): readonly { what: ScheduledAction; field: string; cron: string }[] =>
  [
    { what: 'stop' as const, field: 'stop', cron: stop },
    { what: 'start' as const, field: 'start', cron: start },
    { what: 'restart' as const, field: 'restart/at', cron: restart?.at },
  ].flatMap(({ cron, ...rest }) => (cron === undefined ? [] : [{ ...rest, cron }]))

/**
 * A local time that a change of the clock skips is the end of the gap, and one that it repeats counts once, unless minute or hour has `*`
 * or a step.
 */
const likeVixie = { mode: '5-part', fixedTimeRule: 'no-wildcard' } as const

/** Returns the first time after an instant, or undefined if there is none. Throws for a text that is not cron, and for an unknown time zone. */
const firstAfter = (cron: string, timeZone: string, after: Date): Date | undefined =>
  new Cron(cron, { ...likeVixie, timezone: timeZone }).nextRun(after) ?? undefined

/** Returns the last time at or before an instant, or undefined if there is none. Throws as `firstAfter`. */
const lastUntil = (cron: string, timeZone: string, until: Date): Date | undefined => {
  // Times have whole seconds, and the one of the argument does not count.
  const after = new Date(Math.floor(until.getTime() / 1_000) * 1_000 + 1_000)
  return new Cron(cron, { ...likeVixie, timezone: timeZone }).previousRuns(1, after)[0]
}

const isTimeZone = (timeZone: string): boolean => {
  try {
    return new Intl.DateTimeFormat('en', { timeZone }) !== undefined
  } catch {
    return false
  }
}

/** Returns the fault of a schedule, or undefined if each of its times occurs. */
export const explainSchedule = (schedule: Schedule | undefined): InputFault | undefined => {
  if (schedule === undefined) return undefined
  if (!scheduleRule.isKept({ schedule })) return { path: '/runtime/schedule', message: scheduleRule.message }
  const { timeZone } = schedule
  if (!isTimeZone(timeZone)) {
    const message = `schedule.timeZone must be a time zone of the IANA database, such as Europe/Berlin: ${timeZone} is unknown`
    return { path: '/runtime/schedule/timeZone', message }
  }
  for (const { field, cron } of timesOf(schedule)) {
    const fault = explainCron(cron, timeZone)
    const name = `schedule.${field.replace('/', '.')}`
    if (fault !== undefined) return { path: `/runtime/schedule/${field}`, message: `${name} ${fault}` }
  }
  return undefined
}

/** The fields of cron, in order, with the values of each. */
const cronFields = [
  'a minute from 0 to 59',
  'an hour from 0 to 23',
  'a day of the month from 1 to 31',
  'a month from 1 to 12 or JAN to DEC',
  'a day of the week from 0 to 7 or SUN to SAT',
]

const explainCron = (cron: string, timeZone: string): string | undefined => {
  const texts = cron.split(' ')
  const at = texts.findIndex((text, place) => !isField(text, place))
  if (at >= 0) {
    return `must have ${cronFields[at]}, a list (1,3), a rising range (1-3), a step (*/2) or *: ${texts[at]} is none of these`
  }
  return firstAfter(cron, timeZone, new Date(0)) === undefined ? `never occurs: no date matches ${cron}` : undefined
}

/** Reports whether a text is valid as the field of cron at a place. */
const isField = (text: string, place: number): boolean => {
  try {
    return new Cron(cronFields.map((_, at) => (at === place ? text : '*')).join(' '), likeVixie) !== undefined
  } catch {
    return false
  }
}

/** Returns the first time of a schedule after an instant, with its action. Throws for a schedule with a fault. */
const firstOf = (schedule: Schedule, after: Date): Timed | undefined =>
  timesOf(schedule)
    .flatMap(({ what, cron }) => {
      const at = firstAfter(cron, schedule.timeZone, after)
      return at === undefined ? [] : [{ what, at }]
    })
    .toSorted(inOrder)[0]

/** Returns the first action of a schedule after an instant. Throws for a schedule with a fault. */
export const nextActionOf = (schedule: Schedule | undefined, after: Date): NextAction | null => {
  const next = schedule && firstOf(schedule, after)
  return next === undefined ? null : toNext(schedule, next)
}

/** Returns a time as the next action. A restart waits at most until the next time of any action. */
const toNext = (schedule: Schedule | undefined, { what, at }: Timed): NextAction => {
  const within = what === 'restart' ? schedule?.restart?.whenEmptyWithinMinutes : undefined
  if (schedule === undefined || within === undefined) return { what, at: at.toISOString() }
  const nextMs = firstOf(schedule, at)?.at.getTime() ?? Number.POSITIVE_INFINITY
  const by = new Date(Math.min(at.getTime() + within * 60_000, nextMs))
  return { what, at: at.toISOString(), by: by.toISOString() }
}

type Timed = { readonly what: ScheduledAction; readonly at: Date }

const inOrder = (one: Timed, other: Timed): number => one.at.getTime() - other.at.getTime()

/** Returns the next action after an edit: as it was if the schedule stays. Throws for a schedule with a fault. */
export const rescheduled = (
  before: Pick<WorldRow, 'runtime' | 'nextAction'>,
  { schedule }: WorldRow['runtime'],
  now: Date,
): NextAction | null =>
  isDeepStrictEqual(before.runtime.schedule, schedule) ? before.nextAction : nextActionOf(schedule, now)

/** The columns of a world that decide about its schedule. */
export type ScheduledWorld = Pick<
  WorldRow,
  'runtime' | 'nextAction' | 'state' | 'phase' | 'idle' | 'startedAt' | 'waitsSince' | 'queueQueued' | 'queueActive'
>

/** The outcome of a schedule whose next action is due. */
export type Due = {
  /** The action to do, if one has an effect. A restart is a new run. */
  readonly act?: ScheduledAction
  /** The time of the schedule that asks for `act`. */
  readonly cause?: NextAction
  /** The action that is done if `act` is a start that is refused: a stop that came before it. */
  readonly otherwise?: 'stop'
  readonly next: NextAction | null
  /** The action that is not done, because its time is more than an hour ago. */
  readonly missed?: NextAction
}

/** Reports whether nobody is in a world: it does not run, or its server says so. */
const isEmpty = (row: ScheduledWorld): boolean => !isRunning(row) || (row.queueActive === 0 && row.queueQueued === 0)

/**
 * Decides about a world whose next action is due; undefined if none is, or if a restart waits for the world to be empty. Of several
 * times that passed since, those of the last hour count together: what is done is what remains of all.
 */
export const decideDue = (row: ScheduledWorld, now: Date): Due | undefined => {
  const { nextAction, runtime } = row
  if (nextAction === null) return undefined
  const at = new Date(nextAction.at)
  const by = new Date(nextAction.by ?? nextAction.at)
  if (now < at || (now < by && !isEmpty(row))) return undefined
  const { schedule } = runtime
  const latestMs = now.getTime() - maxLateMs
  // A restart that waited is late from the end of its wait.
  const isMissed = by.getTime() < latestMs
  const due = remaining(row, passedTimes(schedule, isMissed ? latestMs : at.getTime(), now))
  const missed = isMissed ? { missed: nextAction } : {}
  // A restart whose time came while another action was the next one may have to wait.
  const isNew = due.act === 'restart' && due.cause?.what === 'restart' && nextAction.what !== 'restart'
  const wait = isNew ? toNext(schedule, { what: 'restart', at: new Date(due.cause.at) }) : undefined
  if (wait?.by !== undefined && now < new Date(wait.by) && !isEmpty(row)) return { next: wait, ...missed }
  return { next: nextActionOf(schedule, now), ...due, ...missed }
}

/** Returns the last time of each action from `fromMs` to `now`, in the order in which they are done. */
const passedTimes = (schedule: Schedule | undefined, fromMs: number, now: Date): Timed[] => {
  if (schedule === undefined) return []
  return timesOf(schedule)
    .flatMap(({ what, cron }) => {
      const at = lastUntil(cron, schedule.timeZone, now)
      return at === undefined || at.getTime() < fromMs ? [] : [{ what, at }]
    })
    .toSorted(inOrder)
}

/** Returns the action that has the effect of all of them, and the last of them that it is for. */
const remaining = (row: ScheduledWorld, due: readonly Timed[]): Pick<Due, 'act' | 'cause' | 'otherwise'> => {
  let isUp = isRunning(row)
  let begun: Timed | undefined
  let stopped: Timed | undefined
  for (const each of due) {
    if (each.what === 'stop') [isUp, begun, stopped] = [false, undefined, each]
    if (each.what === 'start' && !isUp) [isUp, begun] = [true, each]
    // A run that began after the time of its restart is new already.
    if (each.what === 'restart' && begun?.what !== 'start' && (row.startedAt === null || row.startedAt < each.at))
      begun = each
  }
  const stop = stopped !== undefined && needsAction('stop', row) ? toAct('stop', stopped) : {}
  if (!isUp) return stop
  if (begun === undefined) return {}
  return { ...toAct(isRunning(row) ? 'restart' : 'start', begun), ...(stop.act && { otherwise: 'stop' }) }
}

const toAct = (act: ScheduledAction, { what, at }: Timed): Pick<Due, 'act' | 'cause'> => ({
  act,
  cause: { what, at: at.toISOString() },
})
