import { afterAll, beforeAll, expect, test } from 'vitest'
import { createHarness, type Plan, plansOf, titleOf } from '#test/crash/harness.ts'
import { createOperatorWorker } from '#test/crash/operatorWorker.ts'
import { operatorWorkloads } from '#test/crash/operatorWorkloads.ts'
import type { WorldFixture } from '#test/crash/worldFixture.ts'

// A part of what `npm run test:crash` does: every write of two lives, each at one point that differs from write to write.
const chosen = ['restart while Starting', 'delete']

let harness: Awaited<ReturnType<typeof createHarness<WorldFixture>>>
beforeAll(async () => {
  harness = await createHarness(2, createOperatorWorker)
})
afterAll(() => harness?.close())

const oneOfThree = (_plan: Plan, index: number): boolean => index % 3 === Math.floor(index / 3) % 3

test.each(operatorWorkloads.filter(({ name }) => chosen.includes(name)))(
  '$name: ends in the same state wherever the operator dies',
  { timeout: 600_000 },
  async (workload) => {
    const recording = await harness.record(workload)
    const plans = plansOf(recording).filter(oneOfThree)
    expect(plans.length).toBeGreaterThan(3)
    const outcomes = await harness.run(recording, plans)
    expect(outcomes.flatMap((each) => (each.fault === undefined ? [] : [`${titleOf(each)}: ${each.fault}`]))).toEqual(
      [],
    )
  },
)

test('two resyncs of all remaining worlds write nothing', async () => {
  expect(await harness.resync()).toEqual([])
})
