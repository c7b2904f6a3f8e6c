import { defineConfig } from 'vitest/config'

// `npm run fuzz`: Schemathesis sends every request that the OpenAPI document leads to.
export default defineConfig({
  test: {
    name: 'fuzz',
    include: ['test/fuzz/*.fuzz.ts'],
    globalSetup: ['test/support/globalSetup.ts'],
    setupFiles: ['test/support/connectServers.ts'],
    hookTimeout: 120_000,
  },
})
