import { defineConfig } from 'vitest/config'

// `npm run test:specs`: random specs and bodies against a real API server.
export default defineConfig({
  test: {
    name: 'specs',
    include: ['test/specs/*.specs.ts'],
    globalSetup: ['test/support/globalSetup.ts'],
    setupFiles: ['test/support/connectServers.ts'],
    testTimeout: 600_000,
    hookTimeout: 180_000,
  },
})
