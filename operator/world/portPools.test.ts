import { describe, expect, test } from 'vitest'
import { aService } from '#operator/testing/world.ts'
import { fc } from '#test/support/fastCheck.ts'
import { createPortPools, parseRange, poolOf, toPoolAnnotation } from './portPools.ts'

const pool = { name: 'europe', first: 7000, last: 7015 }
const serviceWith = (numbers: readonly number[], of = pool) =>
  aService('LoadBalancer', {
    metadata: { annotations: toPoolAnnotation(of) },
    spec: {
      ports: numbers.flatMap((port) => [
        { port, protocol: 'TCP' },
        { port, protocol: 'UDP' },
      ]),
    },
  })
const one = { pool, present: [undefined], mayMove: true }

describe('the ports of a pool', () => {
  test('are allotted from the first one on, and held for a world that asks again', () => {
    const pools = createPortPools()
    expect(pools.allot('a', { ...one, present: [undefined, undefined] })).toEqual({
      numbers: [7000, 7001],
      isCrowded: false,
    })
    expect(pools.allot('b', one)).toEqual({ numbers: [7002], isCrowded: false })
    expect(pools.allot('a', { ...one, present: [undefined, undefined] }).numbers).toEqual([7000, 7001])
  })

  test('are used again in the order of their release, after those that were never used', () => {
    const pools = createPortPools()
    const all = Array.from({ length: 16 }, (_, at) => 7000 + at)
    for (const number of all.slice(0, 15)) pools.observe(`${number}`, serviceWith([number]))
    pools.observe('7003', undefined)
    pools.observe('7001', undefined)
    const next = ['a', 'b', 'c'].map((key) => pools.allot(key, one).numbers[0])
    expect(next).toEqual([7015, 7003, 7001])
  })

  test('are shared by as few worlds as possible when none is left', () => {
    const pools = createPortPools()
    const allotted = Array.from({ length: 33 }, (_, at) => pools.allot(`world-${at}`, one))
    expect(allotted.map(({ isCrowded }) => isCrowded)).toEqual(allotted.map((_, at) => at >= 16))
    const uses = allotted.map(({ numbers }) => numbers[0])
    expect(uses.slice(0, 16)).toEqual(uses.slice(16, 32))
  })

  test('stay with a world while its load balancer has them, and move to a free one before that', () => {
    const pools = createPortPools()
    pools.observe('first', serviceWith([7000]))
    pools.observe('second', serviceWith([7000]))
    expect(pools.allot('second', { pool, present: [7000], mayMove: false })).toEqual({
      numbers: [7000],
      isCrowded: true,
    })
    expect(pools.allot('second', { pool, present: [7000], mayMove: true })).toEqual({
      numbers: [7001],
      isCrowded: false,
    })
    expect(pools.allot('first', { pool, present: [7000], mayMove: true }).numbers).toEqual([7000])
  })

  test('are counted for each pool alone', () => {
    const pools = createPortPools()
    pools.observe('first', serviceWith([7000], { ...pool, name: 'asia' }))
    pools.observe('other', aService('LoadBalancer', { spec: { ports: [{ port: 7001, protocol: 'TCP' }] } }))
    expect(pools.allot('second', { ...one, present: [undefined, undefined] }).numbers).toEqual([7000, 7001])
  })

  test.each(['7000-7014', '7015-7000', '0-100', '65530-65600', '7000', '', '7000-7999-1', 'a-b'])(
    'are not the range %j',
    (text) => expect(parseRange(text)).toBeUndefined(),
  )

  test('are read from the annotation of a Service, and not from one that is not valid', () => {
    expect(poolOf(serviceWith([7000]))).toEqual(pool)
    const annotated = (text: string) =>
      aService('LoadBalancer', { metadata: { annotations: { 'orrery.dev/port-pool': text } } })
    for (const text of ['europe', ':7000-7999', 'Europe:7000-7999', 'europe:7000-7001']) {
      expect(poolOf(annotated(text))).toBeUndefined()
    }
  })
})

describe('for any order of starts, stops, edits and restarts of the operator', () => {
  const world = fc.integer({ min: 0, max: 7 }).map(String)
  const port = fc.integer({ min: 7000, max: 7015 })
  const event = fc.oneof(
    fc.record({ does: fc.constant('starts' as const), world, ports: fc.integer({ min: 1, max: 2 }) }),
    fc.record({ does: fc.constant('stops' as const), world }),
    fc.record({ does: fc.constant('isEdited' as const), world, port }),
    fc.record({ does: fc.constant('reconciles' as const), world }),
    fc.record({ does: fc.constant('restarts' as const) }),
  )
  type Event = typeof event extends fc.Arbitrary<infer E> ? E : never

  const createCluster = () => {
    let pools = createPortPools()
    const services = new Map<string, readonly number[]>()
    const reconcile = (key: string, present: readonly (number | undefined)[]) => {
      const { numbers } = pools.allot(key, { pool, present, mayMove: true })
      expect(new Set(numbers).size).toBe(present.length)
      write(key, numbers)
    }
    const write = (key: string, numbers: readonly number[]) => {
      services.set(key, numbers)
      pools.observe(key, serviceWith(numbers))
    }
    const onWorld = (each: Exclude<Event, { does: 'restarts' }>) => {
      const present = services.get(each.world)
      if (each.does === 'starts') {
        if (present === undefined) reconcile(each.world, Array(each.ports).fill(undefined))
      } else if (each.does === 'stops') {
        services.delete(each.world)
        pools.observe(each.world, undefined)
      } else if (present !== undefined) {
        if (each.does === 'isEdited') write(each.world, [each.port, ...present.slice(1)])
        else reconcile(each.world, present)
      }
    }
    const restart = () => {
      pools = createPortPools()
      for (const [key, numbers] of services) pools.observe(key, serviceWith(numbers))
    }
    return {
      services,
      reconcile,
      execute: (each: Event) => (each.does === 'restarts' ? restart() : onWorld(each)),
    }
  }

  // Eight worlds with at most two ports need at most the 16 ports of the pool.
  test('no world has a port twice, and worlds without an address come to have no port in common', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60, size: 'max' }), (events) => {
        const { services, reconcile, execute } = createCluster()
        for (const each of events) execute(each)
        for (const [key, numbers] of services) reconcile(key, numbers)
        const all = [...services.values()].flat()
        expect(new Set(all).size).toBe(all.length)
      }),
    )
  })
})
