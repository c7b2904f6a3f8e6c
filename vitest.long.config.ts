import { defineConfig } from 'vitest/config'

const minuteMs = 60_000
const soakMinutes = Math.max(
  Number(process.env.ORRERY_SOAK_MINUTES ?? 20),
  Number(process.env.ORRERY_OUTAGE_MINUTES ?? 10),
)

/** A project whose tests are the files `test/<name>/*.<name>.ts`. Each has real servers. */
const long = (name: string, testMinutes: number, options: { fileParallelism?: boolean; maxWorkers?: number } = {}) => ({
  test: {
    name,
    include: [`test/${name}/*.${name}.ts`],
    globalSetup: ['test/support/globalSetup.ts'],
    setupFiles: ['test/support/connectServers.ts'],
    testTimeout: testMinutes * minuteMs,
    hookTimeout: 3 * minuteMs,
    ...options,
  },
})

// The long tests, each a command of its own.
export default defineConfig({
  test: {
    projects: [
      // `npm run fuzz`: Schemathesis sends every request that the OpenAPI document leads to.
      long('fuzz', 60),
      // `npm run test:clients`: generators of clients on the OpenAPI document.
      long('clients', 20),
      // `npm run test:model`: random sequences of requests, edits with kubectl and faults.
      long('model', 10),
      // `npm run test:specs`: random specs and bodies against a real API server.
      long('specs', 10),
      // `npm run test:values`: random values of the chart, rendered by Helm and sent to a real API server.
      long('values', 60),
      // `npm run test:crash`: every plan of the crash harness, which takes an hour or more. The plans of both writers wait more
      // than they work.
      long('crash', 60, { maxWorkers: 2 }),
      // `npm run soak`: worlds and bots that come and go, with an operator that is killed now and then, and then an API server that
      // is gone for some minutes. One file at a time, since both measure.
      long('soak', soakMinutes + 30, { fileParallelism: false }),
    ],
  },
})
