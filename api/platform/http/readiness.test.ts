import { expect, test } from 'vitest'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { shareAnswer } from './readiness.ts'

test('shares one check between calls within the time limit, and checks again afterwards', async () => {
  const clock = createFakeClock(0)
  const asked: PromiseWithResolvers<number>[] = []
  const share = shareAnswer(clock, 1_000, () => {
    const answer = Promise.withResolvers<number>()
    asked.push(answer)
    return answer.promise
  })
  const both = Promise.all([share(), share()])
  asked[0]?.resolve(1)
  expect(await both).toEqual([1, 1])
  expect([await share(), asked.length]).toEqual([1, 1])
  clock.advance(1_000)
  const next = share()
  asked[1]?.resolve(2)
  expect([await next, asked.length]).toEqual([2, 2])
})
