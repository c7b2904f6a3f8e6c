import { afterAll, beforeAll, expect, test } from 'vitest'
import { seeded } from '#test/support/writers.ts'
import { createHarness, type Outcome, plansOf, titleOf } from './harness.ts'
import type { Workload } from './runner.ts'

const print = (line: string): void => void process.stdout.write(`${line}\n`)

/**
 * Declares a test for each workload and one for the resyncs. Prints each plan and the totals. ORRERY_CRASH_SEED makes it a
 * sample: at most ORRERY_CRASH_PLANS plans of each workload, until ORRERY_CRASH_MINUTES have passed. ORRERY_CRASH_TARGET
 * selects the faults at writes to the `cluster` or at commits in the `database`. The regular expressions ORRERY_CRASH_WORKLOAD
 * and ORRERY_CRASH_PLAN select workloads and plans by title; a workload without such a plan is skipped.
 */
export const declarePlanTests = <S>(
  writer: string,
  workloads: readonly Workload<S>[],
  { workers, createWorker }: { workers: number; createWorker: Parameters<typeof createHarness<S>>[1] },
): void => {
  const { deadlineMs, maxPlans, random, target, workloadName, title } = readSample()
  const named = workloads.filter(({ name }) => workloadName.test(name))
  const chosen = random === undefined ? named : shuffle(named, random)
  let harness: Awaited<ReturnType<typeof createHarness<S>>>
  const outcomes: Outcome[] = []
  beforeAll(async () => {
    harness = await createHarness(workers, createWorker)
  })
  afterAll(async () => {
    await harness?.close()
    const failed = outcomes.filter(({ failure }) => failure !== undefined).length
    const invalid = outcomes.filter(({ failure }) => failure?.startsWith('invalid')).length
    print(
      `${writer}: ${outcomes.length} plans, ${chosen.length} workloads, ${failed} failed (${invalid} of them invalid)`,
    )
  })

  test.for(chosen)('$name: ends in the same state wherever the writer dies', async (workload, { skip }) => {
    skip(performance.now() > deadlineMs, 'ORRERY_CRASH_MINUTES have passed')
    const recording = await harness.record(workload)
    const all = plansOf(recording).filter(
      (plan) =>
        (target === undefined || (plan.target === 'database') === (target === 'database')) && title.test(titleOf(plan)),
    )
    skip(all.length === 0 && process.env.ORRERY_CRASH_PLAN !== undefined, 'no plan has such a title')
    const plans = random === undefined ? all : shuffle(all, random).slice(0, maxPlans)
    expect(plans.length).toBeGreaterThan(0)
    expect(recording.normal.violations).toEqual([])
    print(`${workload.name}: ${plans.length} of ${all.length} plans`)
    const here = await harness.run(recording, plans, (outcome) => print(lineOf(outcome)))
    outcomes.push(...here)
    expect(here.filter(({ failure }) => failure !== undefined).map(lineOf)).toEqual([])
  })

  test('writes nothing in two resyncs after all plans', async () => {
    expect(await harness.resync()).toEqual([])
  })
}

const readSample = () => {
  const { ORRERY_CRASH_SEED, ORRERY_CRASH_PLANS, ORRERY_CRASH_MINUTES, ORRERY_CRASH_TARGET } = process.env
  return {
    random: ORRERY_CRASH_SEED === undefined ? undefined : seeded(Number(ORRERY_CRASH_SEED)),
    target: ORRERY_CRASH_TARGET,
    workloadName: new RegExp(process.env.ORRERY_CRASH_WORKLOAD ?? ''),
    title: new RegExp(process.env.ORRERY_CRASH_PLAN ?? ''),
    maxPlans: Number(ORRERY_CRASH_PLANS ?? Number.POSITIVE_INFINITY),
    deadlineMs: performance.now() + Number(ORRERY_CRASH_MINUTES ?? Number.POSITIVE_INFINITY) * 60_000,
  }
}

const shuffle = <T>(items: readonly T[], random: () => number): T[] =>
  items
    .map((item) => ({ item, key: random() }))
    .sort((a, b) => a.key - b.key)
    .map(({ item }) => item)

const lineOf = ({ plan, failure }: Outcome): string =>
  failure === undefined ? `ok   ${titleOf(plan)}` : `FAIL ${titleOf(plan)}: ${failure}`
