import { expect, test } from 'vitest'
import { createBudget } from '#api/platform/fairness/budget.ts'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { createHeldReads } from './heldReads.ts'

const createTestReads = () => {
  const clock = createFakeClock()
  const inFlight = createBudget({ total: 100, perGroup: 100, free: 0 })
  const run = createHeldReads({ inFlight, clock, signal: new AbortController().signal })
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  return { clock, inFlight, run, settle }
}

test('holds the bytes during the read only, also if it fails', async () => {
  const { inFlight, run } = createTestReads()
  expect(await run(60, async () => inFlight.heldBytes())).toBe(60)
  expect(inFlight.heldBytes()).toBe(0)
  await expect(run(60, () => Promise.reject(new Error('no database')))).rejects.toThrow('no database')
  expect(inFlight.heldBytes()).toBe(0)
})

test('waits until the bytes are free', async () => {
  const { clock, inFlight, run, settle } = createTestReads()
  const request = inFlight.open('a')
  request.hold(50)
  let isRead = false
  const reading = run(60, async () => {
    isRead = true
  })
  clock.advance(1_000)
  await settle()
  expect(isRead).toBe(false)
  request.end()
  clock.advance(1_000)
  await reading
  expect(isRead).toBe(true)
})

test('reads after 5 s even if the bytes are not free', async () => {
  const { clock, inFlight, run, settle } = createTestReads()
  inFlight.open('a').hold(50)
  let isRead = false
  const reading = run(60, async () => {
    isRead = true
  })
  for (let at = 0; at < 250; at += 1) {
    expect(isRead).toBe(false)
    clock.advance(20)
    await settle()
  }
  await reading
  expect(isRead).toBe(true)
})
