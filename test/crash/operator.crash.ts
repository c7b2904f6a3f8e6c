import { createOperatorWorker } from './operatorWorker.ts'
import { operatorWorkloads } from './operatorWorkloads.ts'
import { testPlans } from './plans.ts'

const workers = Number(process.env.ORRERY_CRASH_WORKERS ?? 2)
testPlans('operator', operatorWorkloads, { workers, createWorker: createOperatorWorker })
