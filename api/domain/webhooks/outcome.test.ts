import { expect, test } from 'vitest'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { outcomeOf } from './outcome.ts'
import type { ClaimedDelivery } from './queue.ts'

const hourMs = 3_600_000
const clock = createFakeClock(Date.parse('2026-11-22T08:00:00Z'))
const rules = { maxAttempts: 10, disableAfterMs: 120 * hourMs }
const after = (claimed: ClaimedDelivery, result: Parameters<typeof outcomeOf>[1]) =>
  outcomeOf(claimed, result, { ...rules, nowMs: clock.now(), random: 0 })

const aClaim = ({ attempts = 1, failingSince = null as Date | null } = {}): ClaimedDelivery => ({
  delivery: {
    id: 'dlv-1',
    organizationId: 'org-1',
    webhookId: 'whk-1',
    messageId: 'msg-1',
    type: 'webhook.test',
    data: {},
    status: 'Pending',
    attempts,
    nextAttemptAt: new Date(clock.now()),
    claimedUntil: new Date(clock.now()),
    lastAttemptAt: null,
    statusCode: null,
    failure: null,
    createdAt: new Date(clock.now()),
  },
  webhook: {
    id: 'whk-1',
    organizationId: 'org-1',
    url: 'https://hooks.example.com/',
    events: [],
    isActive: true,
    sealed: '',
    previousSealed: null,
    previousValidUntil: null,
    failingSince,
    disabledAt: null,
    disabledReason: null,
    createdAt: new Date(clock.now()),
    updatedAt: new Date(clock.now()),
  },
})

test.each([200, 202, 204, 299])('status %i ends a delivery', (statusCode) => {
  const { attempt, health } = after(aClaim(), { statusCode })
  expect(attempt).toMatchObject({ status: 'Delivered', statusCode, failure: null })
  expect(health).toBeUndefined()
})

test.each([
  [301, 'Redirect'],
  [307, 'Redirect'],
  [400, 'ErrorStatus'],
  [500, 'ErrorStatus'],
  [199, 'ErrorStatus'],
])('status %i is a failed attempt: %s', (statusCode, failure) => {
  expect(after(aClaim(), { statusCode }).attempt).toMatchObject({ status: 'Pending', statusCode, failure })
})

test('failed attempts are repeated with growing delays, until the last one', () => {
  const started = clock.now()
  const waits: number[] = []
  let result = after(aClaim(), { failure: 'TimedOut' })
  for (let attempts = 2; result.attempt.status === 'Pending'; attempts += 1) {
    const waitMs = result.attempt.nextAttemptAt.getTime() - clock.now()
    waits.push(waitMs / 1_000)
    clock.advance(waitMs)
    result = after(aClaim({ attempts }), { failure: 'TimedOut' })
  }
  expect(waits).toEqual([5, 25, 125, 625, 3_125, 15_625, 78_125, 86_400, 86_400])
  expect(result.attempt).toMatchObject({ status: 'Failed', failure: 'TimedOut', statusCode: null })
  expect((clock.now() - started) / (24 * hourMs)).toBeCloseTo(3.1, 1)
})

test('a webhook is deactivated when nothing was delivered for the time of the rule', () => {
  const since = (hours: number) => aClaim({ failingSince: new Date(clock.now() - hours * hourMs) })
  const failure = { failure: 'ConnectionFailed' } as const
  expect(after(aClaim(), failure).health).toEqual({ failingSince: new Date(clock.now()) })
  expect(after(since(119), failure).health).toBeUndefined()
  expect(after(since(120), failure).health).toMatchObject({ isActive: false, disabledReason: 'Failing' })
  expect(after(since(120), { statusCode: 200 }).health).toEqual({ failingSince: null })
})

test('a webhook that answers 410 is deactivated at once', () => {
  expect(after(aClaim(), { statusCode: 410 }).health).toMatchObject({ isActive: false, disabledReason: 'Gone' })
})
