import { describe } from 'vitest'
import { createOperatorWorker } from './operatorWorker.ts'
import { operatorWorkloads } from './operatorWorkloads.ts'
import { declarePlanTests } from './plans.ts'

const workers = Number(process.env.ORRERY_CRASH_WORKERS ?? 2)
// An operator has no database.
describe.skipIf(process.env.ORRERY_CRASH_TARGET === 'database')('an operator', () => {
  declarePlanTests('operator', operatorWorkloads, { workers, createWorker: createOperatorWorker })
})
