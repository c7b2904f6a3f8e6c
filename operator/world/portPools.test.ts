import { describe, expect, test } from 'vitest'
import { aService } from '#operator/testing/world.ts'
import { fc } from '#test/support/fastCheck.ts'
import { createPortPools, parseRange, poolNameOf, toPoolAnnotation } from './portPools.ts'

const pool = { name: 'europe', first: 7000, last: 7007 }
const serviceWith = (numbers: readonly number[], ip?: string, of = pool) =>
  aService('LoadBalancer', {
    metadata: { annotations: toPoolAnnotation(of) },
    spec: {
      ports: numbers.flatMap((port) => [
        { port, protocol: 'TCP' },
        { port, protocol: 'UDP' },
      ]),
    },
    status: { loadBalancer: ip === undefined ? {} : { ingress: [{ ip }] } },
  })
const ask = (count: number, present?: number[]) => ({ pool, count, present })
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at)

describe('the ports of a pool', () => {
  test('are allotted in turn, and held for a world that asks again', () => {
    const pools = createPortPools()
    for (const _ of [1, 2]) {
      expect(pools.allot('a', ask(2))).toEqual({ numbers: [7000, 7001], isCrowded: false })
      expect(pools.allot('b', ask(1))).toEqual({ numbers: [7002], isCrowded: false })
    }
    pools.observe('a', undefined)
    expect(pools.allot('c', ask(1)).numbers).toEqual([7003])
    expect(pools.allot('d', ask(6)).numbers).toEqual([7004, 7005, 7006, 7007, 7000, 7001])
  })

  test('are all free at one address', () => {
    const pools = createPortPools()
    pools.observe('a', serviceWith([7000, 7001, ...range(7003, 7007)], '198.51.100.1'))
    pools.observe('b', serviceWith([7000, 7002, ...range(7005, 7007)], '198.51.100.2'))
    expect(pools.allot('c', ask(3))).toEqual({ numbers: [7001, 7003, 7004], isCrowded: false })
    expect(pools.allot('d', ask(1))).toEqual({ numbers: [7002], isCrowded: false })
  })

  test('are not held by a world that waits for a further address', () => {
    const pools = createPortPools()
    pools.observe('a', serviceWith(range(7000, 7006), '198.51.100.1'))
    const waiting = pools.allot('b', ask(2))
    expect(waiting.isCrowded).toBe(true)
    expect(pools.allot('c', ask(1))).toEqual({ numbers: [7007], isCrowded: false })
    expect(pools.allot('b', ask(2, [...waiting.numbers]))).toEqual(waiting)
    pools.observe('a', serviceWith(range(7004, 7006), '198.51.100.1'))
    expect(pools.allot('b', ask(2, [...waiting.numbers])).isCrowded).toBe(false)
  })

  test('stay with a world that still waits if they are free at an address', () => {
    const pools = createPortPools()
    const { numbers } = pools.allot('a', ask(2))
    pools.observe('b', serviceWith([7005], '198.51.100.1'))
    expect(pools.allot('a', ask(2, [...numbers]))).toEqual({ numbers, isCrowded: false })
  })

  test('move to free ones if another world got them, and do not move on while the Service does not show it', () => {
    const pools = createPortPools()
    pools.observe('a', serviceWith([7000], '198.51.100.1'))
    pools.observe('b', serviceWith([7000]))
    const moved = pools.allot('b', ask(1, [7000]))
    expect(moved).toEqual({ numbers: [7001], isCrowded: false })
    expect(pools.allot('b', ask(1, [7000]))).toEqual(moved)
  })

  test('are taken by every load balancer Service with the address, also outside of the pool', () => {
    const pools = createPortPools()
    pools.observe('a', serviceWith([7003], '198.51.100.1'))
    pools.observe('b', serviceWith([7000], '198.51.100.1', { ...pool, name: 'renamed' }))
    pools.observe('c', serviceWith([7001], '198.51.100.2', { ...pool, name: 'asia' }))
    expect(pools.allot('d', ask(1)).numbers).toEqual([7001])
  })

  test('are still taken while their Service lacks its address for a moment', () => {
    const pools = createPortPools()
    pools.observe('c', serviceWith([7002], '198.51.100.1'))
    for (const ip of ['198.51.100.1', undefined]) pools.observe('a', serviceWith([7000], ip))
    expect(pools.allot('b', ask(1, [7000])).numbers).toEqual([7001])
  })

  test('are still taken while players know the address that their Service lacks, also by a new process', () => {
    const pools = createPortPools()
    pools.observe('a', serviceWith([7000]), '198.51.100.1')
    expect(pools.allot('b', ask(1, [7000]))).toEqual({ numbers: [7001], isCrowded: false })
  })

  test('are free at every address where they can be, since the load balancer chooses one', () => {
    const pools = createPortPools()
    pools.observe('a', serviceWith([7000], '198.51.100.1'))
    pools.observe('b', serviceWith([7001], '198.51.100.2'))
    expect(pools.allot('c', ask(2)).numbers).toEqual([7002, 7003])
  })

  test.each(['7000-7006', '7015-7000', '0-100', '65530-65600', '7000', '', '7000-7999-1', 'a-b'])(
    'are not the range %j',
    (text) => expect(parseRange(text).errors).toEqual(['must be a range of at least 8 ports, such as 7000-7999']),
  )

  test('are named by an annotation of the Service', () => {
    expect(poolNameOf(serviceWith([7000]))).toBe('europe')
    expect(poolNameOf(aService('LoadBalancer'))).toBeUndefined()
  })
})

describe('for any order of starts, stops and restarts of the operator', () => {
  const world = fc.integer({ min: 0, max: 9 }).map(String)
  const event = fc.oneof(
    fc.record({ does: fc.constant('starts' as const), world, ports: fc.integer({ min: 1, max: 4 }) }),
    fc.record({ does: fc.constant('stops' as const), world }),
    fc.record({ does: fc.constant('reconciles' as const), world }),
    fc.record({ does: fc.constant('restarts' as const) }),
    fc.record({ does: fc.constant('balances' as const) }),
  )
  type Event = typeof event extends fc.Arbitrary<infer E> ? E : never
  type Entry = { numbers: readonly number[]; ip?: string }

  /** A load balancer gives a Service its first address at which the ports of the Service are free. */
  const createCluster = (addresses: readonly string[]) => {
    let pools = createPortPools()
    const services = new Map<string, Entry>()
    const isFree = (ip: string, numbers: readonly number[]) =>
      ![...services.values()].some((each) => each.ip === ip && each.numbers.some((number) => numbers.includes(number)))
    const write = (key: string, entry: Entry) => {
      services.set(key, entry)
      pools.observe(key, serviceWith(entry.numbers, entry.ip))
    }
    const reconcile = (key: string, count: number, present?: readonly number[]) => {
      const { numbers } = pools.allot(key, { pool, count, present })
      expect(new Set(numbers).size).toBe(count)
      write(key, { numbers })
    }
    const retry = (key: string) => {
      const { numbers, ip } = services.get(key) ?? {}
      if (numbers !== undefined && ip === undefined) reconcile(key, numbers.length, numbers)
    }
    const balance = () => {
      for (const [key, { numbers, ip }] of services) {
        const free = ip ?? addresses.find((each) => isFree(each, numbers))
        if (free !== undefined) write(key, { numbers, ip: free })
      }
    }
    const restart = () => {
      pools = createPortPools()
      for (const [key, { numbers, ip }] of services) pools.observe(key, serviceWith(numbers, ip))
    }
    const execute = (each: Event) => {
      if (each.does === 'restarts') restart()
      else if (each.does === 'balances') balance()
      else if (each.does === 'reconciles') retry(each.world)
      else if (each.does === 'starts') {
        if (!services.has(each.world)) reconcile(each.world, each.ports)
      } else {
        services.delete(each.world)
        pools.observe(each.world, undefined)
      }
    }
    return { services, isFree, execute, retry, balance }
  }

  test.each([1, 2, 3])('a world waits only while no address has enough free ports, with %i addresses', (size) => {
    const addresses = Array.from({ length: size }, (_, at) => `198.51.100.${at}`)
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60, size: 'max' }), (events) => {
        const { services, isFree, execute, retry, balance } = createCluster(addresses)
        for (const each of events) execute(each)
        for (let round = 0; round < 12; round += 1) {
          for (const key of services.keys()) retry(key)
          balance()
        }
        for (const { numbers, ip } of services.values()) {
          if (ip !== undefined) continue
          const free = addresses.map((each) => range(pool.first, pool.last).filter((number) => isFree(each, [number])))
          expect(Math.max(...free.map((each) => each.length))).toBeLessThan(numbers.length)
        }
      }),
    )
  })
})
