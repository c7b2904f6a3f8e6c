import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { createLagMetrics } from '#api/sync/metrics.ts'
import type { Findings } from '#api/sync/reconcile/findings.ts'
import { worldAdapter } from '#api/sync/reconcile/world.ts'
import { systemClock } from '#shared/clock.ts'
import { createKubeMetrics } from '#shared/kube/metrics.ts'
import { createLog } from '#shared/log.ts'
import { eventually } from '#test/support/wait.ts'
import { type PullDeps, pullKind } from './pull.ts'

const key = 'orrery-org-1/wld-1'
const registry = new Registry()

test('a resource with a finding does not count as gone before the cache is complete', async () => {
  const forgotten: string[] = []
  const stop = new AbortController()
  const nothing = async () => undefined
  const findings: Findings = {
    ...{ report: nothing, load: nothing, prune: nothing, keys: () => [key] },
    forget: async (_, of) => void forgotten.push(of),
  }
  const deps = {
    ...{ cluster: 'default', namespacePrefix: 'orrery', clock: systemClock, findings, transaction: nothing },
    lag: createLagMetrics(registry, systemClock),
    metrics: createKubeMetrics(registry),
    log: createLog({ name: 'test', level: 'silent' }),
    echoes: { has: async () => false, pulled: () => undefined },
  } as Partial<PullDeps> as PullDeps
  const complete = Promise.withResolvers<void>()
  const cache = {
    store: { get: () => undefined, list: () => [] },
    onChange: () => undefined,
    synced: () => complete.promise,
  }
  const pulling = pullKind(worldAdapter, deps, cache, stop.signal)
  await new Promise(setImmediate)
  expect(forgotten).toEqual([])
  complete.resolve()
  await eventually('the finding is read again', async () => forgotten.includes(key))
  stop.abort()
  await pulling
})
