import { defineConfig } from 'vitest/config'

/** A machine that others use too may be too slow for one look; what passes at the second try is named in the summary. */
const retry = process.env.CI === undefined ? 0 : 1

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['{api,client,dev,examples,operator,shared,test/support}/**/*.test.ts'],
          testTimeout: 10_000,
        },
      },
      {
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          globalSetup: ['test/support/globalSetup.ts'],
          fileParallelism: false,
          retry,
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          globalSetup: ['test/support/e2eSetup.ts'],
          fileParallelism: false,
          retry,
          testTimeout: 120_000,
          hookTimeout: 300_000,
        },
      },
    ],
  },
})
