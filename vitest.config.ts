import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { LongestFirst } from './test/support/longestFirst.ts'
import { patience } from './test/support/wait.ts'

/** Integration tests wait more than they compute. Each worker holds a control plane and a Postgres, about 1 GB in all. */
const integrationWorkers = Math.min(availableParallelism() + 2, 6)

/** The settings of tests with a real control plane, Postgres and S3. */
const withServers = {
  globalSetup: ['test/support/globalSetup.ts'],
  setupFiles: ['test/support/connectServers.ts'],
  maxWorkers: integrationWorkers,
  // Above the limits of the waits inside, which say what did not happen.
  testTimeout: 180_000 * patience,
  hookTimeout: 180_000 * patience,
  // The default of one second fails tests on a busy machine.
  expect: { poll: { timeout: 15_000 * patience } },
}

const minuteMs = 60_000
const soakMinutes = Math.max(
  Number(process.env.ORRERY_SOAK_MINUTES ?? 20),
  Number(process.env.ORRERY_OUTAGE_MINUTES ?? 10),
  Number(process.env.ORRERY_SLEEP_MINUTES ?? 10),
)

/** A project of long tests: the files `test/<name>/*.<name>.ts`, with a limit for each test. */
const long = (
  name: string,
  testMinutes: number,
  options: { fileParallelism?: boolean; maxWorkers?: number; sequence?: { groupOrder: number } } = {},
) => ({
  test: {
    ...withServers,
    name,
    include: [`test/${name}/*.${name}.ts`],
    testTimeout: testMinutes * minuteMs,
    maxWorkers: availableParallelism(),
    sequence: { groupOrder: 4 },
    ...options,
  },
})

/** A project of tests that run `npm start`, one file at a time. */
const withStack = (name: string) => ({
  test: {
    name,
    include: [`test/${name}/*.test.ts`],
    globalSetup: ['test/support/e2eSetup.ts'],
    setupFiles: ['test/support/endWithRunner.ts'],
    fileParallelism: false,
    testTimeout: 180_000 * patience,
    hookTimeout: 300_000 * patience,
  },
})

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{api,client,console,dev,examples,operator,shared,test/support}/**/*.test.ts'],
          // The default leaves one CPU free, which is half of a machine with two.
          maxWorkers: availableParallelism(),
          // Property tests take a few seconds on an idle machine.
          testTimeout: 60_000 * patience,
        },
      },
      {
        test: {
          ...withServers,
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...withServers,
          name: 'faults',
          include: ['test/faults/*.test.ts'],
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          ...withServers,
          name: 'packaging',
          include: ['test/packaging/*.test.ts'],
          sequence: { groupOrder: 3 },
        },
      },
      withStack('e2e'),
      withStack('gateway'),
      long('model', 10),
      long('specs', 10),
      long('pictures', 10),
      long('values', 60),
      long('fuzz', 60),
      long('clients', 20),
      // The plans of both writers wait more than they work.
      long('crash', 60, { maxWorkers: 2, sequence: { groupOrder: 5 } }),
      // One file at a time, since both measure.
      long('soak', soakMinutes + 30, { fileParallelism: false, sequence: { groupOrder: 6 } }),
    ],
  },
})
