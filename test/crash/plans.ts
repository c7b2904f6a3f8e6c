import { afterAll, beforeAll, expect, test } from 'vitest'
import { createHarness, type Outcome, plansOf, titleOf } from './harness.ts'
import type { Workload } from './runner.ts'

const print = (line: string): void => void process.stdout.write(`${line}\n`)

/** Declares a test for each workload, with all its plans, and one for the further looks; prints each plan, and the sum. */
export const declarePlanTests = <S>(
  writer: string,
  workloads: readonly Workload<S>[],
  { workers, createWorker }: { workers: number; createWorker: Parameters<typeof createHarness<S>>[1] },
): void => {
  const chosen = workloads.filter(({ name }) => name.includes(process.env.ORRERY_CRASH_WORKLOAD ?? ''))
  let harness: Awaited<ReturnType<typeof createHarness<S>>>
  const outcomes: Outcome[] = []
  beforeAll(async () => {
    harness = await createHarness(workers, createWorker)
  })
  afterAll(async () => {
    await harness?.close()
    const failed = outcomes.filter(({ fault }) => fault !== undefined).length
    const invalid = outcomes.filter(({ fault }) => fault?.startsWith('invalid')).length
    print(
      `${writer}: ${outcomes.length} plans, ${chosen.length} workloads, ${failed} failed (${invalid} of them invalid)`,
    )
  })

  test.each(chosen)('$name: wherever the writer dies, the end is the same', async (workload) => {
    const recording = await harness.record(workload)
    const plans = plansOf(recording)
    expect(plans.length).toBeGreaterThan(0)
    const here = await harness.run(recording, plans)
    outcomes.push(...here)
    for (const outcome of here) print(lineOf(outcome))
    expect(here.flatMap((each) => (each.fault === undefined ? [] : [`${titleOf(each)}: ${each.fault}`]))).toEqual([])
  })

  test('two further looks at everything that the plans left write nothing', async () => {
    expect(await harness.resync()).toEqual([])
  })
}

const lineOf = (outcome: Outcome): string =>
  outcome.fault === undefined ? `ok   ${titleOf(outcome)}` : `FAIL ${titleOf(outcome)}: ${outcome.fault}`
