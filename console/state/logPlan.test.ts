import { expect, test } from 'vitest'
import { countAttempts, type LogOutcome, mayGoOn, planNextRead, sinceOf } from './logPlan.ts'

const plan = (outcome: LogOutcome, attempts = 0) => planNextRead(outcome, { attempts, random: 1 })
const end = (reason: string, attempts = 0) => plan({ kind: 'end', reason }, attempts)
const refused = (status: number, retryAfterSeconds?: number, attempts = 0) =>
  plan(
    {
      kind: 'refusal',
      status,
      detail: 'Why.',
      requestId: 'req-1',
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    },
    attempts,
  )

test('reads on after the ends that say nothing about the server', () => {
  expect(end('Duration').retryInMs).toBe(0)
  expect(end('Shutdown').retryInMs).toBe(1_000)
  expect(end('Interrupted').retryInMs).toBe(1_000)
  expect(end('Revoked').retryInMs).toBe(1_000)
  expect(plan({ kind: 'lost' }).retryInMs).toBe(1_000)
})

test('stops after the ends that are final, and after an unknown one', () => {
  expect(end('Deleted').kind).toBe('final')
  for (const reason of ['End', 'toString', '']) expect(end(reason).kind).toBe('ended')
  for (const reason of ['Deleted', 'End', 'toString', '']) expect(end(reason).retryInMs).toBeUndefined()
})

test('waits longer after each attempt, up to half a minute, and gives up in the end', () => {
  expect([0, 1, 2, 3, 9].map((attempts) => end('Interrupted', attempts).retryInMs)).toEqual([
    1_000, 2_000, 4_000, 8_000, 30_000,
  ])
  expect(end('Interrupted', 20).retryInMs).toBeUndefined()
  expect(end('Interrupted', 20).text).toContain('Read again')
})

test('counts no attempt whose log stayed open, so a quiet log is followed for ever', () => {
  expect(countAttempts(19, { openMs: 900_000 })).toBe(0)
  expect(countAttempts(19, { openMs: 29_000 })).toBe(19)
  expect(countAttempts(19, { openMs: 0 })).toBe(19)
})

test('spreads the attempts of many readers over half of the delay', () => {
  expect(planNextRead({ kind: 'lost' }, { attempts: 0, random: 0 }).retryInMs).toBe(500)
})

test('has a sentence of its own for each status, with the words of the API', () => {
  const statuses = [401, 403, 404, 409, 429, 501, 503, 500]
  expect(new Set(statuses.map((status) => refused(status).text)).size).toBe(statuses.length)
  expect(refused(403)).toMatchObject({ detail: 'Why.', requestId: 'req-1' })
})

test('does not repeat what the same key cannot change', () => {
  for (const status of [400, 401, 403, 404, 422, 501]) expect(refused(status, 3).retryInMs).toBeUndefined()
})

test('waits as long as the API asks', () => {
  expect(refused(429, 7).retryInMs).toBe(7_000)
  expect(refused(503).retryInMs).toBe(1_000)
  expect(refused(409, 3).retryInMs).toBe(3_000)
  expect(refused(409).retryInMs).toBeUndefined()
})

test('continues a log from before its last line', () => {
  expect(sinceOf({ lastAtMs: 1_000, nowMs: 31_500 })).toBe('33')
  expect(sinceOf({ lastAtMs: 5_000, nowMs: 0 })).toBe('1')
})

test('goes on with a new version of the world only where it may bring another log', () => {
  const running = { isNewestRun: true, isRunning: true }
  expect(mayGoOn(refused(409), { isNewestRun: false, isRunning: false })).toBe(true)
  expect(mayGoOn(end('End'), running)).toBe(true)
  expect(mayGoOn(end('End'), { ...running, isNewestRun: false })).toBe(false)
  expect(mayGoOn(end('End'), { ...running, isRunning: false })).toBe(false)
  expect(mayGoOn(end('Deleted'), running)).toBe(false)
})
