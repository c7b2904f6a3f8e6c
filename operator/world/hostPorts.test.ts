import { describe, expect, test } from 'vitest'
import type { Pod } from '#operator/pods/pod.ts'
import { runA, runB } from '#operator/testing/common.ts'
import { aPod } from '#operator/testing/world.ts'
import { type HostPorts, parseHostPorts } from '#shared/domain/hostPorts.ts'
import { podPorts, type WorldPort } from '#shared/domain/ports.ts'
import { fc } from '#test/support/fastCheck.ts'
import { createHostPortUse } from './hostPorts.ts'

const hostPorts = parseHostPorts('default=7000-7007,voice=9000-9007,static=27015').value as HostPorts
const port = (name = 'game', changes: Partial<WorldPort> = {}): WorldPort => ({
  name,
  containerPort: 7777,
  protocol: 'TCPUDP',
  expose: 'Public',
  ...changes,
})
const ports = (count: number) => Array.from({ length: count }, (_, at) => port(`p${at}`, { containerPort: 80 + at }))
const aRun = (list: WorldPort[] = [port()], id = runA) => ({ id, ports: list })
/** The pod of a run with these host ports. */
const podWith = (numbers: readonly number[], node?: string, list = ports(numbers.length), run = runA): Pod => ({
  ...aPod({ run }),
  spec: {
    ...(node === undefined ? {} : { nodeName: node }),
    containers: [{ name: 'server', ports: podPorts(list, numbers) }],
  },
})

describe('the host ports of a run', () => {
  test('are those that the fewest pods use, of the others the one that is free longest', () => {
    const use = createHostPortUse(hostPorts)
    for (const _ of [1, 2]) expect(use.of('a').allot(aRun(ports(3)))).toEqual([7000, 7001, 7002])
    expect(use.of('b').allot(aRun(ports(5)))).toEqual([7003, 7004, 7005, 7006, 7007])
    use.observe('b', undefined)
    use.observe('a', undefined)
    expect(use.of('c').allot(aRun(ports(6)))).toEqual([7003, 7004, 7005, 7006, 7007, 7000])
    expect(use.of('d').allot(aRun(ports(3)))).toEqual([7001, 7002, 7003])
  })

  test('are of the range of each port, and a static port is what the world says', () => {
    const list = [port('a', { range: 'voice' }), port('b', { policy: 'Static', hostPort: 27_015 }), port('c')]
    expect(createHostPortUse(hostPorts).of('a').allot(aRun(list))).toEqual([9000, 27_015, 7000])
  })

  test('are not those on which the server listens otherwise', () => {
    const list = [port('a', { policy: 'Passthrough' }), port('b', { containerPort: 7000, expose: 'Internal' })]
    expect(createHostPortUse(hostPorts).of('a').allot(aRun(list))).toEqual([7001])
    const wide = parseHostPorts('default=8080-8087').value as HostPorts
    expect(createHostPortUse(wide).of('a').allot(aRun())).toEqual([8081])
  })

  test('are fewer if the range does not have enough', () => {
    const list = ports(8).map((each, at) => ({ ...each, containerPort: 7000 + at }))
    expect(createHostPortUse(hostPorts).of('a').allot(aRun(list))).toEqual([])
  })

  test('stay with a restarted server, also after a restart of the operator, and not with the next run', () => {
    for (const isKnown of [true, false]) {
      const use = createHostPortUse(hostPorts)
      if (isKnown) use.of('a').allot(aRun(ports(2)))
      use.observe('a', podWith([7000, 7001], 'one'))
      use.observe('a', undefined)
      expect(use.of('b').allot(aRun())).toEqual([7002])
      expect(use.of('a').allot(aRun(ports(2)))).toEqual([7000, 7001])
      use.observe('a', undefined)
      expect(use.of('a').allot(aRun(ports(2), runB))).toEqual([7003, 7004])
    }
  })

  test('of a pod that has ended are free', () => {
    const use = createHostPortUse(hostPorts)
    const pod = podWith([7000, 7001, 7002, 7003, 7004, 7005, 7006, 7007], 'one')
    use.observe('a', pod)
    use.observe('a', { ...pod, status: { phase: 'Failed' } })
    expect(use.of('b').allot(aRun())).toEqual([7000])
    expect(use.of('b').nodesInUse()).toEqual(new Set())
  })

  test('of a replaced pod are others, and each replacement of the run counts', () => {
    const use = createHostPortUse(hostPorts)
    const own = use.of('a')
    const seen = new Set<number>()
    for (let replaced = 0; replaced < 8; replaced += 1) {
      expect(own.replaced(runA)).toBe(replaced)
      const numbers = own.allot(aRun())
      for (const each of numbers) expect(seen.has(each)).toBe(false)
      for (const each of numbers) seen.add(each)
      use.replace('a', runA, podWith(numbers))
      use.observe('a', undefined)
    }
    expect(own.allot(aRun())).toHaveLength(1)
    expect(own.replaced(runB)).toBe(0)
    use.forget('a')
    expect(own.replaced(runA)).toBe(0)
  })

  test('of a replaced pod are others, although more pods use those', () => {
    const use = createHostPortUse(hostPorts)
    use.observe('other', podWith([7001, 7002, 7003, 7004, 7005, 7006, 7007], 'one'))
    const pod = podWith(use.of('a').allot(aRun()))
    use.replace('a', runA, pod)
    use.observe('a', undefined)
    expect(use.of('a').allot(aRun())).toEqual([7001])
  })

  test('are in use on the nodes of other worlds alone', () => {
    const use = createHostPortUse(hostPorts)
    use.observe('a', podWith([7000, 7001], 'one'))
    use.observe('b', podWith([7001], 'two'))
    use.observe('c', podWith([7002], 'three'))
    use.observe('d', podWith([7000]))
    expect(use.of('d').nodesInUse()).toEqual(new Set(['one']))
    expect(use.of('a').nodesInUse()).toEqual(new Set(['two']))
    expect(use.of('a').nodesInUse([7002])).toEqual(new Set(['three']))
  })
})

describe('for any order of starts, ends and restarts of the operator', () => {
  const world = fc.integer({ min: 0, max: 29 }).map(String)
  const event = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ does: fc.constant('starts' as const), world, count: fc.integer({ min: 1, max: 3 }) }),
    },
    { weight: 2, arbitrary: fc.record({ does: fc.constant('ends' as const), world }) },
    { weight: 1, arbitrary: fc.record({ does: fc.constant('restarts' as const) }) },
  )

  test('a new pod gets the least used ports, and none is lost or leaks', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 200, size: 'max' }), (events) => {
        const pods = new Map<string, number[]>()
        const countOf = (number: number) => [...pods.values()].filter((each) => each.includes(number)).length
        let use = createHostPortUse(hostPorts)
        for (const [at, each] of events.entries()) {
          if (each.does === 'restarts') {
            use = createHostPortUse(hostPorts)
            for (const [key, numbers] of pods) use.observe(key, podWith(numbers, 'one'))
          } else if (each.does === 'ends') {
            pods.delete(each.world)
            use.observe(each.world, undefined)
          } else if (!pods.has(each.world)) {
            const numbers = [...use.of(each.world).allot(aRun(ports(each.count), `run-${at}`))]
            const counts = Array.from({ length: 8 }, (_, index) => countOf(7000 + index)).sort((a, b) => a - b)
            expect(numbers.map(countOf).sort((a, b) => a - b)).toEqual(counts.slice(0, each.count))
            pods.set(each.world, numbers)
            use.observe(each.world, podWith(numbers, 'one', ports(each.count), `run-${at}`))
          }
        }
      }),
      { numRuns: 300 },
    )
  })
})
