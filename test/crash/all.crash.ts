import { afterAll, beforeAll, expect, test } from 'vitest'
import { createHarness, type Outcome, plansOf, titleOf } from './harness.ts'
import { workloads } from './workloads.ts'

const workers = Number(process.env.ORRERY_CRASH_WORKERS ?? 2)
const chosen = workloads.filter(({ name }) => name.includes(process.env.ORRERY_CRASH_WORKLOAD ?? ''))

let harness: Awaited<ReturnType<typeof createHarness>>
const outcomes: Outcome[] = []
const print = (line: string): void => void process.stdout.write(`${line}\n`)

beforeAll(async () => {
  harness = await createHarness(workers)
})
afterAll(async () => {
  await harness?.close()
  const failed = outcomes.filter(({ fault }) => fault !== undefined).length
  const invalid = outcomes.filter(({ fault }) => fault?.startsWith('invalid')).length
  print(`${outcomes.length} plans over ${chosen.length} workloads, ${failed} failed (${invalid} of them invalid)`)
})

test.each(chosen)('$name: wherever the operator dies, the end is the same', async (workload) => {
  const recording = await harness.record(workload)
  const plans = plansOf(recording)
  expect(plans.length).toBeGreaterThan(0)
  const here = await harness.run(recording, plans)
  outcomes.push(...here)
  for (const outcome of here) print(`${outcome.fault === undefined ? 'ok  ' : 'FAIL'} ${titleOf(outcome)}`)
  expect(here.flatMap((each) => (each.fault === undefined ? [] : [`${titleOf(each)}: ${each.fault}`]))).toEqual([])
})

test('two further looks at every world that the plans left write nothing', async () => {
  expect(await harness.resync()).toEqual([])
})
