import { describe, expect, test } from 'vitest'
import { explainRunLimit, noUse, type RunUse } from '#shared/domain/runUse.ts'
import { addUse, maxUse } from '#shared/domain/use.ts'
import type { WorldStatus } from '#shared/resources/world.ts'
import { fc } from '#test/support/fastCheck.ts'
import { active, aPod, applyStatus, aWorld, planFor, settings } from './fixtures.ts'
import { createServerUse, type ServerUse, useOfServer } from './servers.ts'

const used = { capacity: 30, nodePorts: 0, loadBalancers: 0 }
const running = active()
const stopping = () => {
  const world = { ...running, spec: { ...running.spec, state: 'Stopped' as const } }
  return applyStatus(world, planFor(world, aPod()))
}

const withProfile = (profile: string) => {
  const run = { ...running.status?.run, profile } as NonNullable<WorldStatus['run']>
  return { ...running, status: { ...running.status, run } as WorldStatus }
}

test.each([
  ['a running world', { world: running, pod: aPod() }, used],
  ['a stopped world until its pod is gone', { world: stopping(), pod: aPod() }, used],
  ['no stopped world without a pod', { world: stopping(), pod: undefined }, noUse],
  ['no pod that has ended', { world: stopping(), pod: aPod({ status: { phase: 'Succeeded' } }) }, noUse],
  ['a run between two pods', { world: running, pod: undefined }, used],
  ['a pod whose run is not in the status yet', { world: aWorld({}), pod: aPod() }, used],
  ['no world before its first run', { world: aWorld({}), pod: undefined }, noUse],
  ['no unknown profile', { world: withProfile('None'), pod: aPod() }, noUse],
])('counts %s', (_, { world, pod }, expected) => {
  expect(useOfServer(world, pod, settings)).toEqual(expected)
})

const use = (capacity: number): RunUse => ({ capacity, nodePorts: 2, loadBalancers: 1 })
/** Returns the sum of a namespace: what a world that uses nothing has beside it. */
const sumOf = (servers: ServerUse, namespace: string): RunUse => servers.othersOf(`${namespace}/none`)

describe('the use of the servers of a namespace', () => {
  test('follows every change of a server', () => {
    const servers = createServerUse(() => undefined)
    expect(sumOf(servers, 'a')).toEqual(noUse)
    servers.set('a/one', use(10))
    servers.set('a/two', use(30))
    servers.set('b/one', use(50))
    expect(sumOf(servers, 'a')).toEqual({ capacity: 40, nodePorts: 4, loadBalancers: 2 })
    servers.set('a/one', use(20))
    servers.set('a/one', use(20))
    expect(sumOf(servers, 'a')).toEqual({ capacity: 50, nodePorts: 4, loadBalancers: 2 })
    expect(servers.othersOf('a/one')).toEqual(use(30))
    servers.set('a/one', noUse)
    servers.set('a/one', noUse)
    servers.set('a/two', noUse)
    expect([sumOf(servers, 'a'), sumOf(servers, 'b')]).toEqual([noUse, use(50)])
  })

  test('has what is reserved for a run, once, until the reservation ends', () => {
    const servers = createServerUse(() => undefined)
    servers.reserve('a/one', use(30))
    expect(sumOf(servers, 'a')).toEqual(use(30))
    servers.set('a/one', use(30))
    expect(sumOf(servers, 'a')).toEqual(use(30))
    servers.set('a/one', use(10))
    expect(sumOf(servers, 'a')).toEqual(use(30))
    servers.reserve('a/one', noUse)
    expect(sumOf(servers, 'a')).toEqual(use(10))
  })

  test('equals the sum of its servers after any changes', () => {
    const key = fc.constantFrom('a/one', 'a/two', 'a/three', 'b/one')
    const value = fc.constantFrom(noUse, use(10), use(30), { ...use(10), loadBalancers: 0 })
    const change = fc.tuple(fc.constantFrom('set' as const, 'reserve' as const), key, value)
    fc.assert(
      fc.property(fc.array(change), (changes) => {
        const servers = createServerUse(() => undefined)
        for (const [verb, name, next] of changes) servers[verb](name, next)
        const lastOf = (verb: 'set' | 'reserve', name: string): RunUse =>
          changes.findLast((each) => each[0] === verb && each[1] === name)?.[2] ?? noUse
        for (const namespace of ['a', 'b']) {
          const names = ['one', 'two', 'three'].map((name) => `${namespace}/${name}`)
          const uses = names.map((name) => maxUse(lastOf('set', name), lastOf('reserve', name)))
          expect(sumOf(servers, namespace)).toEqual(uses.reduce(addUse, noUse))
        }
      }),
    )
  })
})

describe('worlds that wait for room', () => {
  const limits = { maxRunningCapacity: 60 }
  const aLine = () => {
    const retried: string[] = []
    const servers = createServerUse((key) => retried.push(key))
    servers.set('a/one', use(30))
    servers.set('a/two', use(30))
    return { servers, retried }
  }

  test('are retried oldest first, as many as there is room for, and hold their room from then on', () => {
    const { servers, retried } = aLine()
    for (const key of ['a/third', 'a/fourth', 'a/fifth']) servers.wait(key, use(30), limits)
    servers.wait('a/third', use(30), limits)
    expect(retried).toEqual([])
    servers.set('a/one', noUse)
    expect([retried, servers.othersOf('a/new')]).toEqual([['a/third'], addUse(use(30), use(30))])
    servers.set('a/two', noUse)
    expect(retried).toEqual(['a/third', 'a/fourth'])
  })

  test('pass over one that needs more room than there is', () => {
    const { servers, retried } = aLine()
    servers.wait('a/large', use(60), limits)
    servers.wait('a/small', use(30), limits)
    servers.set('a/one', noUse)
    expect(retried).toEqual(['a/small'])
    servers.set('a/two', noUse)
    servers.reserve('a/small', noUse)
    expect(retried).toEqual(['a/small', 'a/large'])
  })

  test('are retried when a limit is raised, and leave the line when they no longer wait', () => {
    const { servers, retried } = aLine()
    servers.wait('a/stopped', use(30), limits)
    servers.wait('a/third', use(30), limits)
    servers.reserve('a/stopped', noUse)
    servers.limit('a', { maxRunningCapacity: 1_000 })
    servers.limit('b', { maxRunningCapacity: 1_000 })
    expect(retried).toEqual(['a/third'])
  })

  test('never have more than the limits together, whatever ends and begins', () => {
    const key = fc.constantFrom('a/one', 'a/two', 'a/three', 'a/four')
    const step = fc.record({
      verb: fc.constantFrom('start' as const, 'stop' as const),
      key,
      capacity: fc.constantFrom(10, 30, 60),
    })
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const wanted = new Map<string, RunUse>()
        const servers = createServerUse((retried) => queue.push(retried))
        const queue: string[] = []
        const reconcile = (name: string): void => {
          const own = wanted.get(name)
          if (own === undefined) servers.reserve(name, noUse)
          else if (explainRunLimit(own, servers.othersOf(name), limits) === undefined) servers.reserve(name, own)
          else servers.wait(name, own, limits)
          expect(sumOf(servers, 'a').capacity).toBeLessThanOrEqual(60)
        }
        for (const { verb, key: name, capacity } of steps) {
          if (verb === 'stop') wanted.delete(name)
          else if (!wanted.has(name)) wanted.set(name, use(capacity))
          reconcile(name)
          for (let next = queue.shift(); next !== undefined; next = queue.shift()) reconcile(next)
        }
      }),
    )
  })
})
