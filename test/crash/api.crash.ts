import { describe } from 'vitest'
import { createApiWorker, createMoveWorker } from './apiWorker.ts'
import { apiWorkloads, moveWorkloads } from './apiWorkloads.ts'
import { declarePlanTests } from './plans.ts'

// One worker, because its operator and its kubelet act on the worlds of every api.
describe('an api with one cluster', () => {
  declarePlanTests('api', apiWorkloads, { workers: 1, createWorker: createApiWorker })
})

describe('an api with two clusters', () => {
  declarePlanTests('api', moveWorkloads, { workers: 1, createWorker: createMoveWorker })
})
