import { defineConfig } from 'vitest/config'

const minutes = Number(process.env.ORRERY_SOAK_MINUTES ?? 20)

// `npm run soak`: worlds and bots that come and go for 20 minutes, with an operator that is killed now and then.
export default defineConfig({
  test: {
    name: 'soak',
    include: ['test/soak/*.soak.ts'],
    globalSetup: ['test/support/globalSetup.ts'],
    setupFiles: ['test/support/connectServers.ts'],
    testTimeout: minutes * 60_000 + 1_800_000,
    hookTimeout: 120_000,
  },
})
