import { afterAll, beforeAll, expect, test } from 'vitest'
import { drawSeed } from '#test/support/seed.ts'
import { type Harness, startHarness } from './harness.ts'
import { sendMany, ways } from './ways.ts'

const seed = drawSeed('ORRERY_SPECS_SEED')
const count = Number(process.env.ORRERY_SPECS ?? 300)

let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness?.stop())

test.each(ways)('$title is refused with a reason, or its push is accepted and is a fixed point', async (way) => {
  const { counts, failures } = await sendMany(harness, way, { seed, count })
  process.stdout.write(`${way.title}: ${[...counts].map(([fate, times]) => `${fate} ${times}`).join(', ')}\n`)
  expect(failures).toEqual([])
  expect([...counts].filter(([, times]) => times === 0)).toEqual([])
})
