import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { LongestFirst } from './test/support/longestFirst.ts'

/** Integration tests wait more than they compute. Each worker holds a control plane and a Postgres, about 1 GB in all. */
const integrationWorkers = Math.min(availableParallelism() + 1, 4)

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
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          globalSetup: ['test/support/globalSetup.ts'],
          setupFiles: ['test/support/connectServers.ts'],
          maxWorkers: integrationWorkers,
          sequence: { groupOrder: 1 },
          // Limits for a machine that is also busy with other work. A test that passes never waits for them.
          testTimeout: 180_000,
          hookTimeout: 180_000,
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
