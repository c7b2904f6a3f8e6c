import { defineConfig } from 'vitest/config'

// `npm run test:model`: random sequences of requests, edits with kubectl and faults.
export default defineConfig({
  test: {
    name: 'model',
    include: ['test/model/*.model.ts'],
    globalSetup: ['test/support/globalSetup.ts'],
    setupFiles: ['test/support/connectServers.ts'],
    testTimeout: 600_000,
    hookTimeout: 180_000,
  },
})
