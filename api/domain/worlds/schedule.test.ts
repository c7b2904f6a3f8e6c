import { describe, expect, test } from 'vitest'
import { isRunning } from '#shared/domain/phases.ts'
import { requestedSchedule, type Schedule, type ScheduledAction, scheduledActions } from '#shared/domain/schedule.ts'
import { type WorldPhase, worldPhases } from '#shared/enumerations.ts'
import { fc } from '#test/support/fastCheck.ts'
import { decideDue, explainSchedule, nextActionOf, rescheduled, type ScheduledWorld } from './schedule.ts'

const on = (fields: Partial<Schedule>): Schedule => ({ timeZone: 'UTC', ...fields })
const instant = (text: string) => new Date(`${text}Z`)
const iso = (text: string) => instant(text).toISOString()

/** The first times of a cron after an instant. */
const timesAfter = (cron: string, timeZone: string, after: Date, count: number): string[] => {
  const times: string[] = []
  for (let from = after; times.length < count; from = new Date(times.at(-1) ?? '')) {
    const next = nextActionOf(on({ timeZone, start: cron }), from)
    if (next === null) break
    times.push(next.at)
  }
  return times
}

describe('a text over REST', () => {
  const read = (start: unknown) => requestedSchedule.safeParse({ start })

  test.each([
    '* * * * *',
    '0 18 * * FRI',
    '0 18 * * fri',
    '0 0 * * 7',
    '0 0 * * SUN',
    '*/15 8-18/2 1,15 JAN-MAR MON-FRI',
    '05 00 01 01 *',
    `${'0,'.repeat(45)}0 * * * *`,
  ])('is cron: %s', (start) => {
    expect(read(start).success).toBe(true)
    expect(explainSchedule(on({ start }))).toBeUndefined()
  })

  test.each([
    '',
    ' ',
    '@daily',
    '@reboot',
    '* * * *',
    '* * * * * *',
    '0 0 * * * *',
    ' * * * * *',
    '* * * * * ',
    '*  * * * *',
    '*\t* * * *',
    '* * * * *\n',
    '0 0 L * *',
    '0 0 15W * *',
    '0 0 * * 5#2',
    '0 0 * * 5L',
    '0 0 ? * *',
    '0 0 * * +1',
    '0 18 * * Fr',
    '2026-01-01T00:00:00',
    '0 0 * * ١',
    `${'0,'.repeat(46)}0 * * * *`,
    null,
    5,
  ])('is refused by its form: %j', (start) => expect(read(start).success).toBe(false))

  test.each([
    ['60 * * * *', 'a minute from 0 to 59', '60'],
    ['*/0 * * * *', 'a minute from 0 to 59', '*/0'],
    ['*/61 * * * *', 'a minute from 0 to 59', '*/61'],
    ['5/5 * * * *', 'a minute from 0 to 59', '5/5'],
    ['1,,2 * * * *', 'a minute from 0 to 59', '1,,2'],
    ['1- * * * *', 'a minute from 0 to 59', '1-'],
    ['-1 * * * *', 'a minute from 0 to 59', '-1'],
    ['** * * * *', 'a minute from 0 to 59', '**'],
    ['0-10/5/2 * * * *', 'a minute from 0 to 59', '0-10/5/2'],
    ['0 24 * * *', 'an hour from 0 to 23', '24'],
    ['0 18-6 * * *', 'an hour from 0 to 23', '18-6'],
    ['0 0 32 * *', 'a day of the month from 1 to 31', '32'],
    ['0 0 0 * *', 'a day of the month from 1 to 31', '0'],
    ['0 0 FRI * *', 'a day of the month from 1 to 31', 'FRI'],
    ['0 0 LLL * *', 'a day of the month from 1 to 31', 'LLL'],
    ['0 0 WWW * *', 'a day of the month from 1 to 31', 'WWW'],
    ['0 0 * 13 *', 'a month from 1 to 12 or JAN to DEC', '13'],
    ['0 0 * MON *', 'a month from 1 to 12 or JAN to DEC', 'MON'],
    ['0 0 * * 8', 'a day of the week from 0 to 7 or SUN to SAT', '8'],
    ['0 0 * * JAN', 'a day of the week from 0 to 7 or SUN to SAT', 'JAN'],
    ['0 0 * * FRI-MON', 'a day of the week from 0 to 7 or SUN to SAT', 'FRI-MON'],
    ['0 0 * * FRIDAY', 'a day of the week from 0 to 7 or SUN to SAT', 'FRIDAY'],
    ['0 0 * * FRIMON', 'a day of the week from 0 to 7 or SUN to SAT', 'FRIMON'],
    ['0 0 * * FRI1', 'a day of the week from 0 to 7 or SUN to SAT', 'FRI1'],
  ])('%s is refused with the field and the value that is at fault', (cron, range, value) => {
    expect(read(cron).success).toBe(true)
    const clause = `must have ${range}, a list (1,3), a rising range (1-3), a step (*/2) or *: ${value} is none of these`
    for (const [schedule, field] of [
      [{ start: cron }, 'start'],
      [{ stop: cron }, 'stop'],
      [{ start: '0 0 * * *', restart: { at: cron } }, 'restart/at'],
    ] as const) {
      const message = `schedule.${field.replace('/', '.')} ${clause}`
      expect(explainSchedule(on(schedule))).toEqual({ path: `/runtime/schedule/${field}`, message })
    }
  })

  test.each(['0 0 30 2 *', '0 0 31 2,4,6,9,11 *', '* * 30-31 FEB *'])('%s never occurs', (stop) => {
    const message = `schedule.stop never occurs: no date matches ${stop}`
    expect(explainSchedule(on({ stop }))).toEqual({ path: '/runtime/schedule/stop', message })
  })

  test('is refused by its length, whatever it is', () => expect(read('0'.repeat(1_000_000)).success).toBe(false))

  test('of any form is refused in one sentence, or has a next time', () => {
    const part = fc.constantFrom('0', '1', '7', '31', '59', '60', '*', ',', '-', '/', 'FRI', 'jan', 'SUN', 'LLL', 'WED')
    const field = fc.array(part, { minLength: 1, maxLength: 5 }).map((parts) => parts.join(''))
    const cron = fc.array(field, { minLength: 5, maxLength: 5 }).map((fields) => fields.join(' '))
    const timeZone = fc.constantFrom('UTC', 'Europe/Berlin', 'Australia/Lord_Howe', 'Etc/GMT+12', 'Pacific/Apia')
    fc.assert(
      fc.property(cron, timeZone, (start, timeZone) => {
        fc.pre(read(start).success)
        const schedule = on({ start, timeZone })
        const fault = explainSchedule(schedule)
        if (fault === undefined) expect(nextActionOf(schedule, instant('2026-06-01T00:00'))).not.toBeNull()
        else expect(fault.message).toMatch(/^schedule\.start (must have an? |never occurs: )/)
      }),
      { numRuns: 500 },
    )
  })
})

describe('a time zone', () => {
  test.each(['UTC', 'utc', 'Europe/Berlin', 'europe/berlin', 'America/Argentina/Buenos_Aires', 'Etc/GMT+5'])(
    '%s is known',
    (timeZone) => {
      expect(requestedSchedule.safeParse({ timeZone, stop: '* * * * *' }).success).toBe(true)
      expect(explainSchedule(on({ timeZone, stop: '* * * * *' }))).toBeUndefined()
    },
  )

  test.each(['Europe/Atlantis', 'UTC+1', 'localtime', 'A', 'Z'])('%s is unknown', (timeZone) => {
    const message = `schedule.timeZone must be a time zone of the IANA database, such as Europe/Berlin: ${timeZone} is unknown`
    expect(explainSchedule(on({ timeZone, stop: '* * * * *' }))).toEqual({
      path: '/runtime/schedule/timeZone',
      message,
    })
  })

  test.each(['', '+01:00', 'Europe/Berlin ', '../etc/passwd', 'E'.repeat(65), null])(
    '%j has no form of a name',
    (timeZone) => expect(requestedSchedule.safeParse({ timeZone, stop: '* * * * *' }).success).toBe(false),
  )

  test('is UTC if absent', () => expect(requestedSchedule.parse({ stop: '* * * * *' }).timeZone).toBe('UTC'))
})

test.each([{}, { timeZone: 'Europe/Berlin' }])('a schedule without an action is refused: %j', (fields) => {
  expect(explainSchedule(on(fields))?.path).toBe('/runtime/schedule')
  expect(nextActionOf(on(fields), new Date(0))).toBeNull()
})

test('no schedule has no fault and no next action', () => {
  expect(explainSchedule(undefined)).toBeUndefined()
  expect(nextActionOf(undefined, new Date(0))).toBeNull()
})

describe('the first times', () => {
  test.each([
    ['a name of a day', '0 18 * * FRI', '2026-01-01T00:00', ['2026-01-02T18:00', '2026-01-09T18:00']],
    ['7 as Sunday', '0 0 * * 7', '2026-01-01T00:00', ['2026-01-04T00:00', '2026-01-11T00:00']],
    [
      'a range up to 7',
      '0 0 * * 6-7',
      '2026-01-01T00:00',
      ['2026-01-03T00:00', '2026-01-04T00:00', '2026-01-10T00:00'],
    ],
    ['a day of the month or of the week', '0 0 2 * SUN', '2026-01-01T00:00', ['2026-01-02T00:00', '2026-01-04T00:00']],
    ['a leap day over 2100', '0 0 29 2 *', '2096-03-01T00:00', ['2104-02-29T00:00']],
    ['a list of minutes', '5,35 9 * * *', '2026-01-01T09:05', ['2026-01-01T09:35', '2026-01-02T09:05']],
    ['a moment before one', '0 9 * * *', '2026-01-01T08:59:59.999', ['2026-01-01T09:00']],
    ['the instant of one', '0 9 * * *', '2026-01-01T09:00', ['2026-01-02T09:00']],
    ['a moment after one', '0 9 * * *', '2026-01-01T09:00:00.001', ['2026-01-02T09:00']],
  ])('of %s: %s', (_, cron, after, times) => {
    expect(timesAfter(cron, 'UTC', instant(after), times.length)).toEqual(times.map(iso))
  })

  const berlin = 'Europe/Berlin'
  const newYork = 'America/New_York'
  const lordHowe = 'Australia/Lord_Howe'
  test.each([
    ['winter and summer', berlin, '0 18 * * *', '2026-03-28T12:00', ['2026-03-28T17:00', '2026-03-29T16:00']],
    ['a gap: its end, once', berlin, '30 2 * * *', '2026-03-28T12:00', ['2026-03-29T01:00', '2026-03-30T00:30']],
    ['the start of a gap', berlin, '0 2 * * *', '2026-03-28T12:00', ['2026-03-29T01:00', '2026-03-30T00:00']],
    ['the end of a gap', berlin, '0 3 * * *', '2026-03-28T12:00', ['2026-03-29T01:00', '2026-03-30T01:00']],
    ['two in a gap: once', berlin, '15,45 2 * * *', '2026-03-28T12:00', ['2026-03-29T01:00', '2026-03-30T00:15']],
    ['a list with a gap', berlin, '30 2,14 * * *', '2026-03-28T13:30', ['2026-03-29T01:00', '2026-03-29T12:30']],
    ['a wildcard over a gap', berlin, '0 * * * *', '2026-03-28T23:30', ['2026-03-29T00:00', '2026-03-29T01:00']],
    ['an overlap: once', berlin, '30 2 * * *', '2026-10-24T12:00', ['2026-10-25T00:30', '2026-10-26T01:30']],
    ['a list in an overlap', berlin, '30 2,14 * * *', '2026-10-24T13:00', ['2026-10-25T00:30', '2026-10-25T13:30']],
    ['after an overlap', berlin, '0 3 * * *', '2026-10-24T12:00', ['2026-10-25T02:00', '2026-10-26T02:00']],
    ['a wildcard in an overlap', berlin, '0 * * * *', '2026-10-24T23:30', ['2026-10-25T00:00', '2026-10-25T01:00']],
    ['a gap', newYork, '30 2 * * *', '2026-03-07T12:00', ['2026-03-08T07:00', '2026-03-09T06:30']],
    ['an overlap', newYork, '30 1 * * *', '2026-10-31T12:00', ['2026-11-01T05:30', '2026-11-02T06:30']],
    ['a gap of half an hour', lordHowe, '15 2 * * *', '2026-10-03T00:00', ['2026-10-03T15:30', '2026-10-04T15:15']],
    [
      'an overlap of half an hour',
      lordHowe,
      '45 1 * * *',
      '2026-04-04T00:00',
      ['2026-04-04T14:45', '2026-04-05T15:15'],
    ],
    ['a gap at midnight', 'Africa/Cairo', '0 0 * * *', '2026-04-22T23:00', ['2026-04-23T22:00', '2026-04-24T21:00']],
    ['no change of the clock', 'Asia/Tokyo', '0 4 * * *', '2026-03-28T00:00', ['2026-03-28T19:00', '2026-03-29T19:00']],
  ])('over %s in %s: %s', (_, timeZone, cron, after, times) => {
    expect(timesAfter(cron, timeZone, instant(after), times.length)).toEqual(times.map(iso))
  })

  /** The minutes of a zone in a window, each with its local time. */
  const minutesOf = (timeZone: string, from: Date, count: number) => {
    const format = new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
    return Array.from({ length: count }, (_, at) => {
      const instant = new Date(from.getTime() + at * 60_000)
      const [hour = 0, minute = 0] = format.format(instant).split(':').map(Number)
      return { at: instant.toISOString(), local: hour * 60 + minute }
    })
  }

  test('are all minutes with the local time, and those of a gap at its end, whatever the zone', () => {
    const changes = [
      [berlin, '2026-03-28T23:00'],
      [berlin, '2026-10-24T22:00'],
      [newYork, '2026-03-08T05:00'],
      [newYork, '2026-11-01T04:00'],
      [lordHowe, '2026-04-04T13:00'],
      [lordHowe, '2026-10-03T13:30'],
      ['Asia/Tokyo', '2026-03-28T15:00'],
    ] as const
    const hours = fc.uniqueArray(fc.integer({ min: 1, max: 4 }), { minLength: 1, maxLength: 3 })
    const minutes = fc.uniqueArray(fc.integer({ min: 0, max: 59 }), { minLength: 1, maxLength: 3 })
    fc.assert(
      fc.property(
        fc.constantFrom(...changes),
        hours,
        minutes,
        fc.boolean(),
        ([zone, midnight], hours, minutes, isWild) => {
          const window = minutesOf(zone, instant(midnight), 6 * 60)
          const wanted = hours.flatMap((hour) => minutes.map((minute) => hour * 60 + minute))
          const isWanted = (local: number) => (isWild ? minutes.includes(local % 60) : wanted.includes(local))
          const seen = new Set<number>()
          const expected = window.filter(({ local }, at) => {
            const isAgain = seen.has(local)
            seen.add(local)
            if (isWild) return isWanted(local)
            const before = window[at - 1]?.local ?? local - 1
            return wanted.some((each) => each === local || (each > before && each < local)) && !isAgain
          })
          const cron = `${minutes} ${isWild ? '*' : hours} * * *`
          const first = new Date(instant(midnight).getTime() - 1)
          const times = timesAfter(cron, zone, first, expected.length)
          expect(times).toEqual(expected.map(({ at }) => at))
        },
      ),
      { numRuns: 200 },
    )
  })
})

describe('the next action', () => {
  const now = instant('2026-01-01T00:00')
  const at = (text: string) => iso(`2026-01-01T${text}`)

  test.each([
    [
      'the first of all',
      { start: '0 9 * * *', stop: '0 8 * * *', restart: { at: '0 7 * * *' } },
      { what: 'restart', at: at('07:00') },
    ],
    [
      'a stop before all of its time',
      { start: '0 8 * * *', stop: '0 8 * * *', restart: { at: '0 8 * * *' } },
      { what: 'stop', at: at('08:00') },
    ],
    [
      'a start before a restart of its time',
      { start: '0 8 * * *', restart: { at: '0 8 * * *' } },
      { what: 'start', at: at('08:00') },
    ],
    ['a restart that does not wait', { restart: { at: '0 5 * * *' } }, { what: 'restart', at: at('05:00') }],
    [
      'a restart that waits',
      { restart: { at: '0 5 * * *', whenEmptyWithinMinutes: 90 } },
      { what: 'restart', at: at('05:00'), by: at('06:30') },
    ],
    [
      'a restart that waits until the next stop',
      { stop: '15 5 * * *', restart: { at: '0 5 * * *', whenEmptyWithinMinutes: 90 } },
      { what: 'restart', at: at('05:00'), by: at('05:15') },
    ],
    [
      'a restart that waits until the next restart',
      { restart: { at: '*/20 5 * * *', whenEmptyWithinMinutes: 90 } },
      { what: 'restart', at: at('05:00'), by: at('05:20') },
    ],
    [
      'a restart that waits until the next day',
      { restart: { at: '0 5 * * *', whenEmptyWithinMinutes: 1_440 } },
      { what: 'restart', at: at('05:00'), by: iso('2026-01-02T05:00') },
    ],
    [
      'a stop, which never waits',
      { stop: '0 4 * * *', restart: { at: '0 5 * * *', whenEmptyWithinMinutes: 9 } },
      { what: 'stop', at: at('04:00') },
    ],
  ])('is %s', (_, fields, expected) => expect(nextActionOf(on(fields), now)).toEqual(expected))

  test('stays after an edit that leaves the schedule, and counts from now after one of the schedule', () => {
    const schedule = on({ start: '0 9 * * *' })
    const nextAction = { what: 'start', at: at('09:00') } as const
    const before = { runtime: { mapName: 'hall', schedule }, nextAction }
    const none = { runtime: { mapName: 'hall' }, nextAction: null }
    const late = instant('2026-01-01T10:00')
    expect(rescheduled(before, { mapName: 'roof', schedule: { ...schedule } }, late)).toBe(nextAction)
    expect(rescheduled(before, { mapName: 'hall', schedule: on({ start: '30 9 * * *' }) }, late)).toEqual({
      what: 'start',
      at: iso('2026-01-02T09:30'),
    })
    expect(rescheduled(before, { mapName: 'hall', schedule: { ...schedule, timeZone: 'Asia/Tokyo' } }, late)?.at).toBe(
      iso('2026-01-02T00:00'),
    )
    expect(rescheduled(before, none.runtime, late)).toBeNull()
    expect(rescheduled(none, before.runtime, late)?.at).toBe(iso('2026-01-02T09:00'))
    expect(rescheduled(none, none.runtime, late)).toBeNull()
  })
})

const aRow = (schedule: Schedule, changes: Partial<ScheduledWorld> = {}): ScheduledWorld => ({
  runtime: { mapName: '', schedule },
  nextAction: null,
  state: 'Running',
  phase: 'Active',
  idle: null,
  startedAt: instant('2026-01-01T00:00'),
  waitsSince: null,
  queueQueued: null,
  queueActive: null,
  ...changes,
})

const stopped = { state: 'Stopped', phase: 'Stopped' } as const
const asleep = {
  phase: 'Stopped',
  idle: { since: iso('2026-01-01T01:00'), asleepSince: iso('2026-01-01T02:00') },
} as const
const failed = { phase: 'Error' } as const
const waiting = { phase: 'Inactive', startedAt: null, waitsSince: instant('2026-01-01T03:00') } as const
const starting = { phase: 'Starting' } as const

describe('a due action', () => {
  const at = (text: string) => iso(`2026-01-01T${text}`)
  const decide = (fields: Partial<Schedule>, world: Partial<ScheduledWorld>, from: string, now: string) => {
    const schedule = on(fields)
    const nextAction = nextActionOf(schedule, new Date(Date.parse(at(from)) - 1))
    return decideDue(aRow(schedule, { nextAction, ...world }), new Date(at(now)))
  }
  const start = { start: '0 5 * * *' }
  const stop = { stop: '0 5 * * *' }
  const restart = { restart: { at: '0 5 * * *' } }

  test.each([
    ['starts a world that was stopped', start, stopped, 'start'],
    ['starts a world that sleeps', start, asleep, 'start'],
    ['starts a world whose run failed', start, failed, 'start'],
    ['starts a world whose start waits', start, waiting, 'start'],
    ['starts a world that never ran', start, { ...stopped, phase: 'Inactive', startedAt: null }, 'start'],
    ['leaves a world that runs', start, {}, undefined],
    ['leaves a world that starts', start, starting, undefined],
    ['stops a world that runs', stop, {}, 'stop'],
    ['stops a world that starts', stop, starting, 'stop'],
    ['stops a world that sleeps', stop, asleep, 'stop'],
    ['stops a world whose start waits', stop, waiting, 'stop'],
    ['leaves a world that was stopped', stop, stopped, undefined],
    ['leaves a world whose run failed', stop, failed, undefined],
    ['restarts a world that runs', restart, {}, 'restart'],
    ['restarts a world that starts', restart, starting, 'restart'],
    ['restarts a run without a known start', restart, { startedAt: null }, 'restart'],
    ['does not restart a world that sleeps', restart, asleep, undefined],
    ['does not restart a world that was stopped', restart, stopped, undefined],
    ['does not restart a world whose run failed', restart, failed, undefined],
    ['does not restart a world whose start waits', restart, waiting, undefined],
    [
      'does not restart a run that began after its time',
      restart,
      { startedAt: instant('2026-01-01T05:00:00.001') },
      undefined,
    ],
    ['does not restart a run that began at its time', restart, { startedAt: instant('2026-01-01T05:00') }, undefined],
    ['stops before it starts', { ...start, ...stop }, {}, 'restart'],
    ['stops before it starts, also a world that was stopped', { ...start, ...stop }, stopped, 'start'],
    ['stops before it restarts', { ...stop, ...restart }, {}, 'stop'],
    ['restarts or starts', { ...start, ...restart }, {}, 'restart'],
    ['starts or restarts', { ...start, ...restart }, asleep, 'start'],
  ] as const)('%s', (_, fields, world, act) => {
    const due = decide(fields, world, '05:00', '05:00')
    expect(due?.act).toBe(act)
    expect(due?.missed).toBeUndefined()
    expect(due?.next?.at).toBe(iso('2026-01-02T05:00'))
    expect(decide(fields, world, '05:00', '04:59:59.999')).toBeUndefined()
  })

  test.each([
    ['that comes with a start', '0 5 * * *'],
    ['whose time passed after that of a start', '10 5 * * *'],
  ])('is the wait of a restart %s that has no effect', (_, at) => {
    const fields = { start: '0 5 * * *', restart: { at, whenEmptyWithinMinutes: 60 } }
    const minute = at.startsWith('1') ? '10' : '00'
    const wait = { what: 'restart', at: iso(`2026-01-01T05:${minute}`), by: iso(`2026-01-01T06:${minute}`) }
    expect(decide(fields, { queueActive: 4, queueQueued: 0 }, '05:00', '05:20')).toEqual({ next: wait })
    expect(decide(fields, { queueActive: 0, queueQueued: 0 }, '05:00', '05:20')).toMatchObject({ act: 'restart' })
  })

  test('says that a stop is done if the start after it is refused', () => {
    const fields = { stop: '0 5 * * *', start: '10 5 * * *' }
    expect(decide(fields, {}, '05:00', '05:45')).toMatchObject({ act: 'restart', otherwise: 'stop' })
    expect(decide(fields, stopped, '05:00', '05:45')).not.toHaveProperty('otherwise')
  })

  test('is none without a next action', () => {
    expect(decideDue(aRow(on(start)), instant('2030-01-01T00:00'))).toBeUndefined()
  })

  test.each([
    ['stop, then start: one new run', { stop: '0 5 * * *', start: '10 5 * * *' }, {}, 'restart', 'start', '05:10'],
    [
      'stop, then start of a world that was stopped',
      { stop: '0 5 * * *', start: '10 5 * * *' },
      stopped,
      'start',
      'start',
      '05:10',
    ],
    ['start, then stop of a world that runs', { start: '0 5 * * *', stop: '30 5 * * *' }, {}, 'stop', 'stop', '05:30'],
    [
      'start, then stop of a world that sleeps',
      { start: '0 5 * * *', stop: '30 5 * * *' },
      asleep,
      'stop',
      'stop',
      '05:30',
    ],
    ['restart, then stop', { restart: { at: '0 5 * * *' }, stop: '30 5 * * *' }, {}, 'stop', 'stop', '05:30'],
    [
      'start, then restart of a world that was stopped',
      { start: '0 5 * * *', restart: { at: '9 5 * * *' } },
      stopped,
      'start',
      'start',
      '05:00',
    ],
    ['many restarts: one', { restart: { at: '* * * * *' } }, {}, 'restart', 'restart', '05:45'],
  ] as const)('that was not done in time is what remains: %s', (_, fields, world, act, what, time) => {
    const due = decide(fields, world, '05:00', '05:45')
    expect(due).toMatchObject({ act, cause: { what, at: at(time) } })
    expect(Date.parse(due?.next?.at ?? '')).toBeGreaterThan(Date.parse(at('05:45')))
    expect(due).not.toHaveProperty('missed')
  })

  test.each([
    ['start, then stop of a world that was stopped', { start: '0 5 * * *', stop: '30 5 * * *' }, stopped],
    ['start, then stop of a world whose run failed', { start: '0 5 * * *', stop: '30 5 * * *' }, failed],
    [
      'a restart of a run that began meanwhile',
      { restart: { at: '0 5 * * *' } },
      { startedAt: instant('2026-01-01T05:30') },
    ],
  ] as const)('that was not done in time leaves nothing to do: %s', (_, fields, world) => {
    const { next, ...rest } = decide(fields, world, '05:00', '05:45') ?? {}
    expect(next).not.toBeNull()
    expect(rest).toEqual({})
  })

  test('is caught up for an hour, and missed after it', () => {
    const missed = { what: 'stop', at: at('05:00') }
    expect(decide(stop, {}, '05:00', '06:00')).toMatchObject({ act: 'stop' })
    const next = { what: 'stop', at: iso('2026-01-02T05:00') }
    expect(decide(stop, {}, '05:00', '06:00:00.001')).toEqual({ next, missed })
    expect(decide(stop, {}, '05:00', '23:00')).toEqual({ next, missed })
  })

  test('that was missed is named beside a later one that is caught up', () => {
    const fields = { stop: '0 5 * * *', start: '0 9 * * *' }
    const missed = { what: 'stop', at: at('05:00') }
    expect(decide(fields, stopped, '05:00', '09:30')).toMatchObject({ act: 'start', missed })
    // The run is the one of before the stop that was missed.
    const { next, ...rest } = decide(fields, {}, '05:00', '09:30') ?? {}
    expect(next).toEqual({ what: 'stop', at: iso('2026-01-02T05:00') })
    expect(rest).toEqual({ missed })
  })

  test('at an instant between two minutes counts each minute of the last hour', () => {
    const each = { restart: { at: '* * * * *' } }
    expect(decide(each, { startedAt: instant('2026-01-01T05:59:59') }, '05:00', '06:00')).toMatchObject({
      act: 'restart',
    })
    expect(decide(each, { startedAt: instant('2026-01-01T06:00:01') }, '05:00', '06:00:30')).not.toHaveProperty('act')
  })

  describe('of a restart that waits for an empty world', () => {
    const waits = { restart: { at: '0 5 * * *', whenEmptyWithinMinutes: 600 } }
    const counts = (queueActive: number | null, queueQueued: number | null) => ({ queueActive, queueQueued })

    test.each([
      ['players', counts(1, 0)],
      ['users who wait', counts(0, 1)],
      ['unknown players', counts(null, 0)],
      ['unknown users who wait', counts(0, null)],
      ['unknown counts', counts(null, null)],
    ])('waits with %s, until its last time', (_, world) => {
      expect(decide(waits, world, '05:00', '05:00')).toBeUndefined()
      expect(decide(waits, world, '05:00', '14:59:59.999')).toBeUndefined()
      expect(decide(waits, world, '05:00', '15:00')).toMatchObject({ act: 'restart' })
      expect(decide(waits, world, '05:00', '16:00')).toMatchObject({ act: 'restart' })
      expect(decide(waits, world, '05:00', '16:00:00.001')).toMatchObject({
        missed: { what: 'restart', at: at('05:00') },
      })
    })

    test('is done as soon as the world is empty, however long it waited', () => {
      expect(decide(waits, counts(0, 0), '05:00', '05:00')).toMatchObject({ act: 'restart' })
      const due = decide(waits, counts(0, 0), '05:00', '12:00')
      expect(due).toMatchObject({ act: 'restart', cause: { what: 'restart', at: at('05:00') } })
      expect(due).not.toHaveProperty('missed')
    })

    test.each([
      ['was stopped', stopped],
      ['sleeps', asleep],
      ['failed', failed],
      ['is new already', { ...counts(0, 0), startedAt: instant('2026-01-01T07:00') }],
    ])('is over if the world %s meanwhile', (_, world) => {
      const { next, ...rest } = decide(waits, world, '05:00', '12:00') ?? {}
      expect(next?.at).toBe(iso('2026-01-02T05:00'))
      expect(rest).toEqual({})
    })

    test('gives way to the next action', () => {
      const fields = { ...waits, stop: '0 8 * * *' }
      expect(decide(fields, counts(3, 0), '05:00', '07:59:59')).toBeUndefined()
      expect(decide(fields, counts(3, 0), '05:00', '08:00')).toMatchObject({ act: 'stop', cause: { at: at('08:00') } })
      expect(decide({ ...waits, start: '0 8 * * *' }, counts(3, 0), '05:00', '08:00')).toMatchObject({ act: 'restart' })
    })
  })
})

describe('whatever the schedule, the world and the time', () => {
  const minute = fc.integer({ min: 0, max: 59 })
  const cron = fc.oneof(
    minute.map((at) => `${at} * * * *`),
    fc.integer({ min: 1, max: 60 }).map((step) => `*/${step} * * * *`),
    fc.tuple(minute, fc.integer({ min: 0, max: 23 })).map(([at, hour]) => `${at} ${hour} * * *`),
  )
  const timeZone = fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Tokyo')
  const withoutRestart = { timeZone, start: cron, stop: cron }
  const within = fc.integer({ min: 1, max: 1_440 })
  const restartOf = (waits: boolean) =>
    fc.record(
      { at: cron, whenEmptyWithinMinutes: within },
      { requiredKeys: waits ? ['at', 'whenEmptyWithinMinutes'] : ['at'] },
    )
  const schedules = fc
    .record({ ...withoutRestart, restart: restartOf(false) }, { requiredKeys: ['timeZone'], noNullPrototype: true })
    .map((schedule) => schedule as Schedule)
    .filter((schedule) => explainSchedule(schedule) === undefined)
  const count = fc.constantFrom(null, 0, 1)
  const worlds = fc
    .record({ phase: fc.constantFrom(...worldPhases), queueActive: count, queueQueued: count, isAsleep: fc.boolean() })
    .map(
      ({ isAsleep, phase, ...counts }): Partial<ScheduledWorld> => ({
        ...counts,
        ...(isAsleep ? asleep : { phase, state: isRunning({ phase }) ? 'Running' : 'Stopped' }),
      }),
    )
  // Around changes of the clock too.
  const from = fc
    .tuple(
      fc.constantFrom('2026-03-28', '2026-06-01', '2026-10-24', '2026-10-31', '2026-04-04'),
      fc.integer({ min: 0, max: 2 * 86_400_000 }),
    )
    .map(([day, ms]) => new Date(Date.parse(day) + ms))
  const later = fc.integer({ min: 0, max: 3 * 3_600_000 })

  test('nothing is done before its time, and the next action is in the future', () => {
    fc.assert(
      fc.property(schedules, worlds, from, later, (schedule, world, start, ms) => {
        const nextAction = nextActionOf(schedule, start)
        const now = new Date(start.getTime() + ms)
        const due = decideDue(aRow(schedule, { ...world, nextAction }), now)
        expect(Date.parse(nextAction?.at ?? '')).toBeGreaterThan(start.getTime())
        if (due === undefined) return
        expect(Date.parse(nextAction?.at ?? '')).toBeLessThanOrEqual(now.getTime())
        const isWait = due.next?.by !== undefined && Date.parse(due.next.at) <= now.getTime()
        if (!isWait) expect(due.next).toEqual(nextActionOf(schedule, now))
        expect(Date.parse((isWait ? due.next?.by : due.next?.at) ?? '')).toBeGreaterThan(now.getTime())
        const times = [due.cause, due.missed].flatMap((each) => (each === undefined ? [] : [Date.parse(each.at)]))
        for (const time of times) expect(time).toBeLessThanOrEqual(now.getTime())
      }),
    )
  })

  test('each action is one that the schedule has: only stops and restarts end a run', () => {
    fc.assert(
      fc.property(schedules, worlds, from, later, (schedule, world, start, ms) => {
        const row = aRow(schedule, { ...world, nextAction: nextActionOf(schedule, start) })
        const due = decideDue(row, new Date(start.getTime() + ms))
        if (due?.act === undefined) return
        const has = (what: ScheduledAction) => schedule[what] !== undefined
        expect(has(due.cause?.what ?? 'start')).toBe(true)
        if (due.act === 'start') expect(has('start') && !isRunning(row)).toBe(true)
        if (due.act === 'stop') expect(has('stop')).toBe(true)
        if (due.act === 'restart')
          expect(isRunning(row) && (has('restart') || (has('stop') && has('start')))).toBe(true)
      }),
    )
  })

  /** The world after what is due at an instant. A start is done at once. */
  const afterTurn = (row: ScheduledWorld, now: Date): ScheduledWorld => {
    const due = decideDue(row, now)
    if (due === undefined) return row
    const { act, next: nextAction } = due
    if (act === undefined) return { ...row, nextAction }
    const phase: WorldPhase = act === 'stop' ? 'Stopped' : 'Active'
    const run = act === 'stop' ? { state: 'Stopped' as const } : { state: 'Running' as const, startedAt: now }
    return { ...row, ...run, phase, idle: null, waitsSince: null, queueActive: null, queueQueued: null, nextAction }
  }
  const outcomeOf = (row: ScheduledWorld, before: ScheduledWorld) => ({
    isUp: isRunning(row),
    isNew: isRunning(row) && row.startedAt !== before.startedAt,
    sleeps: row.idle !== null,
    nextAction: row.nextAction,
  })

  test('one turn after an hour has the outcome of a turn at any time in it', () => {
    const turns = fc.array(fc.integer({ min: 0, max: 3_600_000 }), { maxLength: 8 })
    const schedule = schedules.filter(({ restart }) => restart?.whenEmptyWithinMinutes === undefined)
    fc.assert(
      fc.property(schedule, worlds, from, turns, (schedule, world, start, turns) => {
        const row = aRow(schedule, { ...world, nextAction: nextActionOf(schedule, start) })
        const end = new Date(start.getTime() + 3_600_000)
        const times = turns.toSorted((one, other) => one - other).map((ms) => new Date(start.getTime() + ms))
        const byTurns = [...times, end].reduce(afterTurn, row)
        expect(outcomeOf(byTurns, row)).toEqual(outcomeOf(afterTurn(row, end), row))
      }),
      { numRuns: 150 },
    )
  })

  test('a turn that follows at once does nothing', () => {
    fc.assert(
      fc.property(schedules, worlds, from, later, (schedule, world, start, ms) => {
        const now = new Date(start.getTime() + ms)
        const row = afterTurn(aRow(schedule, { ...world, nextAction: nextActionOf(schedule, start) }), now)
        expect(afterTurn(row, now)).toBe(row)
      }),
    )
  })

  test('a restart that waits is done within its minutes, and before the next action', () => {
    const schedule = fc
      .record(
        { ...withoutRestart, restart: restartOf(true) },
        { requiredKeys: ['timeZone', 'restart'], noNullPrototype: true },
      )
      .map((each) => each as Schedule)
    fc.assert(
      fc.property(schedule, from, (schedule, start) => {
        const next = nextActionOf(schedule, start)
        fc.pre(next?.what === 'restart')
        const by = new Date(next?.by ?? '')
        const row = aRow(schedule, { startedAt: start, queueActive: 1, queueQueued: 0, nextAction: next })
        expect(decideDue(row, new Date(by.getTime() - 1))).toBeUndefined()
        expect(decideDue(row, by)?.act).toBeDefined()
        expect(decideDue({ ...row, queueActive: 0 }, new Date(by.getTime() - 1))?.act).toBe('restart')
        const at = Date.parse(next?.at ?? '')
        expect(by.getTime() - at).toBeLessThanOrEqual((schedule.restart?.whenEmptyWithinMinutes ?? 0) * 60_000)
        const following = scheduledActions
          .flatMap(
            (what) => nextActionOf(on({ timeZone: schedule.timeZone, [what]: schedule[what] }), new Date(at))?.at ?? [],
          )
          .map((each) => Date.parse(each))
        expect(by.getTime()).toBeLessThanOrEqual(Math.min(...following))
      }),
      { numRuns: 200 },
    )
  })
})
