import { describe, expect, test } from 'vitest'
import type { Pod } from '#operator/pods/pod.ts'
import {
  aBot,
  active,
  aGrant,
  aWorld,
  createdIndexes,
  deletedIndexes,
  leaving,
  planFor,
  ready,
  settings,
  settle,
  someBots,
  startedIn,
  type TestInput,
  tenantPolicy,
} from '#operator/testing/bots.ts'
import { exitStatus, runA, runB, startMs } from '#operator/testing/common.ts'
import { scaleCpu, scaleMemoryBytes } from '#shared/quantities.ts'
import { fc } from '#test/support/fastCheck.ts'
import { formatIndexes, parseIndexes } from './indexes.ts'
import { indexOf } from './pod.ts'

const most = 6

const podOf = (index: number) =>
  fc.constantFrom<Pod>(
    aBot(index),
    aBot(index, { status: ready }),
    aBot(index, { status: exitStatus(0) }),
    aBot(index, { status: exitStatus(3) }),
    aBot(index, { status: exitStatus(3), restarts: 3 }),
    aBot(index, { status: { phase: 'Failed', reason: 'Evicted' } }),
    aBot(index, { ...leaving, status: ready }),
    aBot(index, { run: runB, status: ready }),
    aBot(index, { host: '10.0.0.99', status: ready }),
    aBot(index, { metadata: { ownerReferences: [] } }),
  )

const inputs: fc.Arbitrary<TestInput> = fc
  .record({
    count: fc.nat({ max: most }),
    pods: fc.tuple(...Array.from({ length: most }, (_, index) => fc.option(podOf(index), { nil: undefined }))),
    run: fc.constantFrom<object>(
      {},
      startedIn(runA),
      startedIn(runB),
      startedIn(runA, { completedIndexes: '1', failedIndexes: '2-3', failure: 'so' }),
      startedIn(runA, { endReason: 'Expired' }),
    ),
    world: fc.constantFrom(
      active(),
      undefined,
      aWorld({ phase: 'Stopped', runId: runA }),
      aWorld({ phase: 'Starting', runId: runB }),
      aWorld({ phase: 'Active', runId: runA }),
    ),
    deleting: fc.boolean(),
    sibling: fc.nat({ max: 12 }),
    policy: fc.constantFrom({}, tenantPolicy),
    grant: fc.option(fc.record({ count: fc.nat({ max: most }), uid: fc.constantFrom('bots-uid', 'other') })),
  })
  .map(({ count, pods, run, world, deleting, sibling, policy, grant }) => {
    const metadata = deleting ? { deletionTimestamp: new Date(startMs).toISOString() } : {}
    const bots = someBots(count, { metadata, ...run, spec: grant === null ? {} : { granted: aGrant(grant) } })
    const older = someBots(sibling, {
      metadata: { name: 'older', uid: 'older', creationTimestamp: '2020-01-01T00:00:00Z' },
    })
    return { bots, world, policy, siblings: [older, bots], pods: pods.filter((pod) => pod !== undefined) }
  })

/** The grant that counts: of this resource, in the namespace of an organization. */
const grantedTo = ({ bots, policy }: TestInput) =>
  policy === tenantPolicy && bots.spec.granted?.uid === 'bots-uid' ? bots.spec.granted : undefined

/**
 * Reconciles until nothing changes, beside the same older bot deployment. Terminating pods are gone at the next reconcile.
 */
const settled = (input: TestInput, other: TestInput['siblings'] = input.siblings): TestInput => {
  let now = input
  for (let round = 0; round < 20; round += 1) {
    const planned = planFor({
      ...now,
      siblings: [...(other ?? []).filter(({ metadata }) => metadata.uid === 'older'), now.bots],
    })
    const gone = new Set(deletedIndexes(planned))
    const kept = (now.pods ?? []).filter(
      ({ metadata }) => metadata.deletionTimestamp === undefined && !gone.has(indexOf('bot-1', metadata.name) ?? -1),
    )
    const added = planned.steps.flatMap((step) =>
      step.verb === 'createPod' ? [aBot(step.bot.index, { run: step.bot.runId, restarts: step.bot.restarts })] : [],
    )
    const still = kept.length === (now.pods ?? []).length && added.length === 0 && planned.requeueAfterMs !== 0
    if (still && JSON.stringify(planned.status) === JSON.stringify(now.bots.status)) return now
    now = { ...now, bots: { ...now.bots, status: planned.status }, pods: [...kept, ...added] }
  }
  throw new Error('The bot deployment did not settle in 20 rounds.')
}
/** The number of bots that may exist. */
const countAllowed = (input: TestInput): number => {
  const { bots, world, siblings, policy } = input
  const isOver =
    bots.metadata.deletionTimestamp !== undefined ||
    world?.status?.phase !== 'Active' ||
    bots.status?.run?.endReason !== undefined
  if (isOver) return 0
  // The older one has no grant.
  const older = policy === tenantPolicy ? 0 : (siblings?.[0]?.spec.count ?? 0)
  return Math.min(bots.spec.count, grantedTo(input)?.count ?? most, Math.max(0, 10 - older))
}

const nameOf = ({ metadata }: Pod): string => `${metadata.name} ${JSON.stringify(metadata.labels)}`

describe('for any observation', () => {
  test('a settled deployment plans no steps and the same status', () => {
    fc.assert(
      fc.property(inputs, fc.nat({ max: 100_000 }), (input, laterMs) => {
        const end = settled(input)
        const waits = (end.bots.status?.run?.restarting?.length ?? 0) > 0
        const planned = planFor({
          ...end,
          siblings: [...(input.siblings ?? []).slice(0, 1), end.bots],
          nowMs: startMs + (waits ? 0 : laterMs),
        })
        expect(planned.steps).toEqual([])
        expect(planned.status).toEqual(end.bots.status)
      }),
      { numRuns: 500 },
    )
  })

  test('the plan does not depend on the order of pods and deployments', () => {
    fc.assert(
      fc.property(inputs, (input) => {
        const turned = {
          ...input,
          pods: (input.pods ?? []).toReversed(),
          siblings: (input.siblings ?? []).toReversed(),
        }
        expect(planFor(turned)).toEqual(planFor(input))
      }),
      { numRuns: 500 },
    )
  })

  test('a crash after any number of steps leads to the same end', () => {
    fc.assert(
      fc.property(inputs, fc.nat({ max: most }), (input, through) => {
        const planned = planFor(input)
        const before = new Set(deletedIndexes({ ...planned, steps: planned.steps.slice(0, through) }))
        const fresh = planned.steps
          .slice(0, through)
          .flatMap((step) =>
            step.verb === 'createPod'
              ? [aBot(step.bot.index, { run: step.bot.runId, restarts: step.bot.restarts })]
              : [],
          )
        const kept = (input.pods ?? []).filter(({ metadata }) => !before.has(indexOf('bot-1', metadata.name) ?? -1))
        const crashed = { ...input, pods: [...kept, ...fresh] }
        const [a, b] = [settled(input), settled(crashed)]
        expect(b.pods?.map(nameOf).sort()).toEqual(a.pods?.map(nameOf).sort())
        expect({ ...b.bots.status, conditions: [] }).toEqual({ ...a.bots.status, conditions: [] })
      }),
      { numRuns: 500 },
    )
  })

  test('a plan deletes only bots that are too many, ended, of another run or of another address', () => {
    fc.assert(
      fc.property(inputs, (input) => {
        const planned = planFor(input)
        const run = input.bots.status?.run
        const allowed = countAllowed(input)
        for (const step of planned.steps) {
          if (step.verb !== 'deletePod') continue
          const { metadata, status } = step.pod
          expect(metadata.ownerReferences?.[0]?.uid).toBe('bots-uid')
          expect(metadata.deletionTimestamp).toBeUndefined()
          const index = indexOf('bot-1', metadata.name) ?? -1
          const isRight =
            metadata.labels?.['orrery.dev/run'] === runA &&
            metadata.annotations?.['orrery.dev/world-address'] === '10.0.0.7:7777'
          const isAlive = status?.phase !== 'Failed' && status?.phase !== 'Succeeded'
          const isOver = parseIndexes(run?.completedIndexes).has(index) || parseIndexes(run?.failedIndexes).has(index)
          expect(isRight && isAlive && index < allowed && !isOver).toBe(false)
        }
      }),
      { numRuns: 1_000 },
    )
  })

  test('a plan creates only bots within the count and the grant, of the Active run, with a free name', () => {
    fc.assert(
      fc.property(inputs, (input) => {
        const planned = planFor(input)
        const names = new Set((input.pods ?? []).map(({ metadata }) => metadata.name))
        for (const index of createdIndexes(planned)) {
          expect(index).toBeLessThan(input.bots.spec.count)
          if (input.policy === tenantPolicy) expect(index).toBeLessThan(grantedTo(input)?.count ?? 0)
          expect(names.has(`bot-1-${index}`)).toBe(false)
          expect(input.world?.status?.phase).toBe('Active')
        }
        expect(new Set(createdIndexes(planned)).size).toBe(createdIndexes(planned).length)
      }),
      { numRuns: 500 },
    )
  })
})

test('a bot that always fails restarts as often as its budget allows', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 5 }), (restartBudget) => {
      let nowMs = startMs
      let input: TestInput = { bots: someBots(1), settings: { ...settings, restartBudget } }
      let attempts = 0
      for (let round = 0; round < 20 && input.bots.status?.phase !== 'Error'; round += 1) {
        input = settle({ ...input, nowMs })
        nowMs += settings.restartBackoffMaxMs
        attempts += input.pods?.length ?? 0
        input = { ...input, pods: (input.pods ?? []).map((pod) => ({ ...pod, status: exitStatus(1) })) }
      }
      expect(attempts).toBe(restartBudget + 1)
    }),
  )
})

test('indexes are parsed as formatted, in the shortest form', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat({ max: 300 })), (indexes) => {
      expect([...parseIndexes(formatIndexes(indexes))]).toEqual(indexes.toSorted((a, b) => a - b))
    }),
  )
  expect(formatIndexes([7, 3, 1, 0, 2])).toBe('0-3,7')
  expect(formatIndexes([])).toBeUndefined()
})

test.each([
  ['128Mi', 0.5, '67108864'],
  ['1Gi', 1, '1Gi'],
  ['1.5k', 0.1, '150'],
  ['100m', 0.02, '100m'],
  ['0', 1, '0'],
])('scales the memory limit %s by %f to %s', (limit, ratio, part) => expect(scaleMemoryBytes(limit, ratio)).toBe(part))

test.each([
  ['100m', 0.25, '25m'],
  ['0.5', 0.5, '250m'],
  ['2', 1, '2'],
  ['1m', 0.02, '1m'],
  ['0', 1, '0'],
])('scales the CPU limit %s by %f to %s', (limit, ratio, part) => expect(scaleCpu(limit, ratio)).toBe(part))
