import { createOperatorWorker } from './operatorWorker.ts'
import { operatorWorkloads } from './operatorWorkloads.ts'
import { declarePlanTests } from './plans.ts'

const workers = Number(process.env.ORRERY_CRASH_WORKERS ?? 2)
declarePlanTests('operator', operatorWorkloads, { workers, createWorker: createOperatorWorker })
