import { expect, test } from 'vitest'
import type { Failure } from '../texts.ts'
import type { BulkKind } from './plan.ts'
import { countOutcomes, endProgress, startProgress } from './progress.ts'
import { afterAnswer, afterFailure, firstStep, type Step } from './step.ts'

const ids = Array.from({ length: 60 }, (_, at) => `wld-${at}`)
const aStep = (kind: BulkKind = 'start'): Step => firstStep(startProgress({ kind, ids }))
const failure = (status: number, code = 'unknown', retryAfterSeconds?: number): Failure => ({
  status,
  code,
  detail: 'Why.',
  requestId: undefined,
  retryAfterSeconds,
})
const lost = failure(0, 'no_answer')
const headers = (values: Record<string, string> = {}) => new Headers(values)
const done = { results: ids.map((worldId) => ({ worldId, status: 200 })) }
/** Repeats a failure until the run ends. Returns the number of waits, and their sum in milliseconds. */
const untilEnd = (first: Step, each: Failure) => {
  let step = first
  let waits = 0
  let sumMs = 0
  while (step.fault === undefined && waits < 10_000) {
    step = afterFailure(step, each)
    if (step.wait === undefined) continue
    waits += 1
    sumMs += step.wait.delayMs
  }
  return { step, waits, sumMs }
}

test('goes on with the next piece at once after an answer', () => {
  const step = afterAnswer(aStep(), done, headers())
  expect(step).toEqual({ ...firstStep(step.progress) })
  expect(countOutcomes(step.progress)).toMatchObject({ done: 50, waiting: 10 })
})

test('waits where few requests of the credential are left', () => {
  const rate = { 'ratelimit-limit': '100', 'ratelimit-remaining': '0', 'ratelimit-reset': '50' }
  const { wait, progress } = afterAnswer(aStep(), done, headers(rate))
  expect(wait).toEqual({ text: expect.stringContaining('Few requests'), delayMs: 5_000 })
  expect(countOutcomes(progress).done).toBe(50)
})

test.each<[string, Failure, number]>([
  ['another bulk action of the organization', failure(429, 'rate_limited', 2), 2_000],
  ['a long wait', failure(429, 'rate_limited', 120), 120_000],
  ['no time', failure(429, 'rate_limited'), 2_000],
  ['a time of 0', failure(429, 'rate_limited', 0), 1_000],
  ['an unavailable database', failure(503, 'unavailable', 2), 2_000],
  ['a proxy that limits', failure(429, 'unknown', 3), 3_000],
])('waits and sends the same piece again after %s, also a restart', (_, each, delayMs) => {
  const step = afterFailure(aStep('restart'), each)
  expect(step.wait?.delayMs).toBe(delayMs)
  expect(step.fault).toBeUndefined()
  expect(countOutcomes(step.progress).waiting).toBe(60)
  expect(countOutcomes(endProgress(step.progress)).skipped).toBe(60)
})

test('says why it waits, without the words for programs', () => {
  const textOf = (each: Failure) => afterFailure(aStep(), each).wait?.text
  const busy = 'Another bulk action of the organization is in progress. Retry after the time in Retry-After.'
  expect(textOf({ ...failure(429, 'rate_limited', 2), detail: busy })).toBe(
    'Another bulk action of the organization is in progress.',
  )
  expect(textOf({ ...failure(429), detail: '<html>' })).toBe('The API takes no more requests at the moment.')
  expect(textOf({ ...failure(429, 'rate_limited', 2), detail: 'x'.repeat(5_000) })).toHaveLength(300)
  expect(textOf(failure(503, 'unavailable', 2))).toBe('The API is unavailable at the moment.')
})

test.each([2, 0, 60, 299])('ends after ten minutes of a busy API that asks for %d s, and keeps the rest', (seconds) => {
  const each = failure(429, 'rate_limited', seconds)
  const { step, waits, sumMs } = untilEnd(aStep(), each)
  expect(sumMs).toBeLessThanOrEqual(600_000)
  expect(waits).toBe(Math.floor(600 / Math.max(1, seconds)))
  expect(step.fault).toBe(each)
  expect(countOutcomes(endProgress(step.progress))).toMatchObject({ failed: 50, skipped: 10, unknown: 0 })
})

test('does not wait for hours', () => {
  expect(untilEnd(aStep(), failure(429, 'rate_limited', 3_600)).waits).toBe(0)
})

test('counts the waits of each piece alone', () => {
  const { progress, attempts } = afterFailure(aStep(), failure(429, 'rate_limited', 200))
  expect(attempts.waitedMs).toBe(200_000)
  expect(afterAnswer({ progress, attempts }, done, headers()).attempts).toEqual({ waitedMs: 0, losses: 0 })
})

test.each(['start', 'stop', 'delete'] as const)('sends a %s again after a lost answer, a few times', (kind) => {
  const { step, waits, sumMs } = untilEnd(aStep(kind), lost)
  expect([waits, sumMs]).toEqual([5, 31_000])
  expect(step.fault).toBe(lost)
  expect(countOutcomes(endProgress(step.progress))).toMatchObject({ unknown: 50, skipped: 10 })
})

test.each([
  ['no response', lost],
  ['a gateway', failure(502)],
  ['a proxy', failure(503)],
  ['a timeout of a proxy', failure(408)],
  ['an error of the API', failure(500, 'internal_error')],
])('does not send a restart again after %s: each would be another run', (_, each) => {
  const { step, waits } = untilEnd(aStep('restart'), each)
  expect(waits).toBe(0)
  expect(countOutcomes(endProgress(step.progress))).toMatchObject({ unknown: 50, skipped: 10 })
})

test('takes a page of a proxy for a lost answer', () => {
  const step = afterAnswer(aStep(), '<html>', headers())
  expect(step.wait?.delayMs).toBe(1_000)
  expect(afterAnswer(aStep('restart'), '<html>', headers()).fault?.detail).toContain('proxy')
})

test('leaves worlds unknown that are stopped after a lost answer', () => {
  const step = afterFailure(aStep(), lost)
  expect(countOutcomes(endProgress(step.progress))).toMatchObject({ unknown: 50, skipped: 10 })
})

test.each([400, 403, 404, 413])('ends after a refusal with %d, which each piece would get', (status) => {
  const { step, waits } = untilEnd(aStep(), failure(status))
  expect(waits).toBe(0)
  expect(step.fault?.status).toBe(status)
  expect(countOutcomes(endProgress(step.progress))).toMatchObject({ failed: 50, skipped: 10 })
})

test('does not call worlds failed whose earlier answer was lost', () => {
  const { step } = untilEnd(afterFailure(aStep(), lost), failure(403))
  expect(countOutcomes(endProgress(step.progress))).toMatchObject({ failed: 0, unknown: 50, skipped: 10 })
})
