import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Harness, startHarness } from '#test/specs/harness.ts'
import { sendMany, ways } from '#test/specs/ways.ts'

const seed = Number(process.env.ORRERY_TEST_SEED ?? 1)

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness?.stop())

// `npm test -- specs` sends more of them, with other seeds.
test.each(ways)('$title is refused with a reason, or its push is accepted and is a fixed point', async (way) => {
  const { counts, failures } = await sendMany(harness, way, { seed, count: 40 })
  process.stdout.write(`${way.title}: ${[...counts].map(([fate, times]) => `${fate} ${times}`).join(', ')}\n`)
  expect(failures).toEqual([])
  expect([...counts].filter(([, times]) => times === 0)).toEqual([])
})
