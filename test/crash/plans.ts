import { afterAll, beforeAll, expect, test } from 'vitest'
import { seeded } from '#test/support/writers.ts'
import { createHarness, type Outcome, plansOf, titleOf } from './harness.ts'
import type { Workload } from './runner.ts'

const print = (line: string): void => void process.stdout.write(`${line}\n`)

/**
 * Declares a test for each workload and one for the resyncs. Prints each plan and the totals. ORRERY_CRASH_SEED makes it a
 * sample: at most ORRERY_CRASH_PLANS plans of each workload, until ORRERY_CRASH_MINUTES have passed.
 */
export const declarePlanTests = <S>(
  writer: string,
  workloads: readonly Workload<S>[],
  { workers, createWorker }: { workers: number; createWorker: Parameters<typeof createHarness<S>>[1] },
): void => {
  const { deadlineMs, maxPlans, random } = readSample()
  const named = workloads.filter(({ name }) => name.includes(process.env.ORRERY_CRASH_WORKLOAD ?? ''))
  const chosen = random === undefined ? named : shuffle(named, random)
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

  test.for(chosen)('$name: ends in the same state wherever the writer dies', async (workload, { skip }) => {
    skip(performance.now() > deadlineMs, 'ORRERY_CRASH_MINUTES have passed')
    const recording = await harness.record(workload)
    const all = plansOf(recording)
    const plans = random === undefined ? all : shuffle(all, random).slice(0, maxPlans)
    expect(plans.length).toBeGreaterThan(0)
    const here = await harness.run(recording, plans)
    outcomes.push(...here)
    for (const outcome of here) print(lineOf(outcome))
    expect(here.flatMap((each) => (each.fault === undefined ? [] : [`${titleOf(each)}: ${each.fault}`]))).toEqual([])
  })

  test('two resyncs after all plans write nothing', async () => {
    expect(await harness.resync()).toEqual([])
  })
}

const readSample = () => {
  const { ORRERY_CRASH_SEED, ORRERY_CRASH_PLANS, ORRERY_CRASH_MINUTES } = process.env
  return {
    random: ORRERY_CRASH_SEED === undefined ? undefined : seeded(Number(ORRERY_CRASH_SEED)),
    maxPlans: Number(ORRERY_CRASH_PLANS ?? Number.POSITIVE_INFINITY),
    deadlineMs: performance.now() + Number(ORRERY_CRASH_MINUTES ?? Number.POSITIVE_INFINITY) * 60_000,
  }
}

const shuffle = <T>(items: readonly T[], random: () => number): T[] =>
  items
    .map((item) => ({ item, key: random() }))
    .sort((a, b) => a.key - b.key)
    .map(({ item }) => item)

const lineOf = (outcome: Outcome): string =>
  outcome.fault === undefined ? `ok   ${titleOf(outcome)}` : `FAIL ${titleOf(outcome)}: ${outcome.fault}`
