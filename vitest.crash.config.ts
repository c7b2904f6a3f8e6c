import { defineConfig } from 'vitest/config'

// `npm run test:crash`: every plan of the crash harness. It takes most of an hour; `npm test` has a part of it.
export default defineConfig({
  test: {
    name: 'crash',
    include: ['test/crash/*.crash.ts'],
    globalSetup: ['test/support/globalSetup.ts'],
    testTimeout: 1_800_000,
    hookTimeout: 120_000,
  },
})
