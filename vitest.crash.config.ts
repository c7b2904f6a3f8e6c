import { defineConfig } from 'vitest/config'

// `npm run test:crash`: every plan of the crash harness, which takes an hour or more.
export default defineConfig({
  test: {
    name: 'crash',
    include: ['test/crash/*.crash.ts'],
    // The plans of both writers wait more than they work.
    maxWorkers: 2,
    globalSetup: ['test/support/globalSetup.ts'],
    setupFiles: ['test/support/connectServers.ts'],
    testTimeout: 3_600_000,
    hookTimeout: 120_000,
  },
})
