import { afterAll, beforeAll } from 'vitest'
import { type HostPortFixture, worldCount } from './hostPortFixture.ts'
import { createHostPortWorker } from './hostPortWorker.ts'
import { declarePlanTests } from './plans.ts'
import type { Workload } from './runner.ts'
import { startScheduler } from './scheduler.ts'

const workers = Number(process.env.ORRERY_CRASH_WORKERS ?? 2)
const workloads: readonly Workload<HostPortFixture>[] = [
  {
    name: `start of ${worldCount} worlds on host ports`,
    run: async (fixture) => {
      await fixture.startAll()
      await fixture.allAreActive()
    },
  },
]

let scheduler: Awaited<ReturnType<typeof startScheduler>>
beforeAll(async () => {
  scheduler = await startScheduler()
})
afterAll(() => scheduler?.stop())

declarePlanTests('two operators', workloads, { workers, createWorker: createHostPortWorker })
