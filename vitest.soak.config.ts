import { defineConfig } from 'vitest/config'

const minutes = Math.max(Number(process.env.ORRERY_SOAK_MINUTES ?? 20), Number(process.env.ORRERY_OUTAGE_MINUTES ?? 10))

// `npm run soak`: worlds and bots that come and go for 20 minutes, with an operator that is killed now and then; then an API
// server that is gone for 10 minutes.
export default defineConfig({
  test: {
    name: 'soak',
    // One file at a time, since both measure.
    fileParallelism: false,
    include: ['test/soak/*.soak.ts'],
    globalSetup: ['test/support/globalSetup.ts'],
    setupFiles: ['test/support/connectServers.ts'],
    testTimeout: minutes * 60_000 + 1_800_000,
    hookTimeout: 120_000,
  },
})
