import { createApiWorker } from './apiWorker.ts'
import { apiWorkloads } from './apiWorkloads.ts'
import { declarePlanTests } from './plans.ts'

// One worker, because its operator and its kubelet act on the worlds of every api.
declarePlanTests('api', apiWorkloads, { workers: 1, createWorker: createApiWorker })
