import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { LongestFirst } from './test/support/longestFirst.ts'

/** Integration tests wait more than they compute. Each worker holds a control plane and a Postgres, about 1 GB in all. */
const integrationWorkers = Math.min(availableParallelism() + 2, 6)

/** The settings of tests with a real control plane, Postgres and S3. */
const withServers = {
  globalSetup: ['test/support/globalSetup.ts'],
  setupFiles: ['test/support/connectServers.ts'],
  maxWorkers: integrationWorkers,
  // Limits for a machine that is also busy with other work. A test that passes never waits for them.
  testTimeout: 180_000,
  hookTimeout: 180_000,
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{api,client,dev,examples,operator,shared,test/support}/**/*.test.ts'],
          // A limit for a busy machine; property tests take a few seconds on an idle one.
          testTimeout: 60_000,
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
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          globalSetup: ['test/support/e2eSetup.ts'],
          fileParallelism: false,
          testTimeout: 120_000,
          hookTimeout: 300_000,
        },
      },
    ],
  },
})
