import { describe, expect, test } from 'vitest'
import { addUse, noUse, type RunUse } from '#shared/domain/runUse.ts'
import type { WorldStatus } from '#shared/resources/world.ts'
import { fc } from '#test/support/fastCheck.ts'
import { active, aPod, applyStatus, aWorld, planFor, settings } from './fixtures.ts'
import { createServerUse, useOfServer } from './servers.ts'

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
  ['no world before its first run', { world: aWorld({}), pod: aPod() }, noUse],
  ['no unknown profile', { world: withProfile('None'), pod: aPod() }, noUse],
])('counts %s', (_, { world, pod }, expected) => {
  expect(useOfServer(world, pod, settings)).toEqual(expected)
})

describe('the use of the servers of a namespace', () => {
  const use = (capacity: number): RunUse => ({ capacity, nodePorts: 2, loadBalancers: 1 })

  test('follows every change of a server', () => {
    const servers = createServerUse()
    expect(servers.of('a')).toEqual(noUse)
    servers.set('a/one', use(10))
    servers.set('a/two', use(30))
    servers.set('b/one', use(50))
    expect(servers.of('a')).toEqual({ capacity: 40, nodePorts: 4, loadBalancers: 2 })
    servers.set('a/one', use(20))
    servers.set('a/one', use(20))
    expect(servers.of('a')).toEqual({ capacity: 50, nodePorts: 4, loadBalancers: 2 })
    servers.set('a/one', noUse)
    servers.set('a/one', noUse)
    servers.set('a/two', noUse)
    expect([servers.of('a'), servers.of('b')]).toEqual([noUse, use(50)])
  })

  test('equals the sum of its servers after any changes', () => {
    const key = fc.constantFrom('a/one', 'a/two', 'a/three', 'b/one')
    const change = fc.tuple(key, fc.constantFrom(noUse, use(10), use(30), { ...use(10), loadBalancers: 0 }))
    fc.assert(
      fc.property(fc.array(change), (changes) => {
        const servers = createServerUse()
        for (const [name, value] of changes) servers.set(name, value)
        for (const namespace of ['a', 'b']) {
          const last = [...new Map(changes)].filter(([name]) => name.startsWith(`${namespace}/`))
          expect(servers.of(namespace)).toEqual(last.reduce((sum, [, value]) => addUse(sum, value), noUse))
        }
      }),
    )
  })
})
