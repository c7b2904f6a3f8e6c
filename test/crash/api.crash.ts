import { createApiWorker } from './apiWorker.ts'
import { apiWorkloads } from './apiWorkloads.ts'
import { declarePlanTests } from './plans.ts'

// One worker: its operator and its kubelet cannot tell the worlds of one api from those of another.
declarePlanTests('api', apiWorkloads, { workers: 1, createWorker: createApiWorker })
