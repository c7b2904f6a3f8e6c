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
    for (const _ of [1, 2]) expect(use.of('a').allot(aRun(ports(3)), 0)).toEqual([7000, 7001, 7002])
    expect(use.of('b').allot(aRun(ports(5)), 0)).toEqual([7003, 7004, 7005, 7006, 7007])
    use.observe('b', undefined)
    use.observe('a', undefined)
    expect(use.of('c').allot(aRun(ports(6)), 0)).toEqual([7003, 7004, 7005, 7006, 7007, 7000])
    expect(use.of('d').allot(aRun(ports(3)), 0)).toEqual([7001, 7002, 7003])
  })

  test('are of the range of each port, and a static port is what the world says', () => {
    const list = [port('a', { range: 'voice' }), port('b', { policy: 'Static', hostPort: 27_015 }), port('c')]
    expect(createHostPortUse(hostPorts).of('a').allot(aRun(list), 0)).toEqual([9000, 27_015, 7000])
  })

  test('are not those on which the server listens otherwise', () => {
    const list = [port('a', { policy: 'Passthrough' }), port('b', { containerPort: 7000, expose: 'Internal' })]
    expect(createHostPortUse(hostPorts).of('a').allot(aRun(list), 0)).toEqual([7001])
    const wide = parseHostPorts('default=8080-8087').value as HostPorts
    expect(
      createHostPortUse(wide)
        .of('a')
        .allot(aRun([port('a', { policy: 'Passthrough' })]), 0),
    ).toEqual([8081])
    expect(createHostPortUse(wide).of('a').allot(aRun(), 0)).toEqual([8080])
  })

  test('are fewer if the range does not have enough', () => {
    const list = ports(8).map((each, at): WorldPort => ({ ...each, policy: 'Passthrough', containerPort: 7000 + at }))
    expect(createHostPortUse(hostPorts).of('a').allot(aRun(list), 0)).toEqual([])
  })

  test('stay with a restarted server, also after a restart of the operator, and not with the next run', () => {
    for (const isKnown of [true, false]) {
      const use = createHostPortUse(hostPorts)
      if (isKnown) use.of('a').allot(aRun(ports(2)), 0)
      use.observe('a', podWith([7000, 7001], 'one'))
      use.observe('a', undefined)
      expect(use.of('b').allot(aRun(), 0)).toEqual([7002])
      expect(use.of('a').allot(aRun(ports(2)), 0)).toEqual([7000, 7001])
      use.observe('a', undefined)
      expect(use.of('a').allot(aRun(ports(2), runB), 0)).toEqual([7003, 7004])
    }
  })

  test('of a pod that has ended are free', () => {
    const use = createHostPortUse(hostPorts)
    use.observe('other', podWith([7000], 'one'))
    const pod = podWith([7001, 7002, 7003, 7004, 7005, 7006, 7007], 'one')
    use.observe('a', pod)
    use.observe('a', { ...pod, status: { phase: 'Failed' } })
    expect(use.of('b').allot(aRun(), 0)).toEqual([7001])
  })

  test('do not stay if the run may not have them any more', () => {
    const fixed = port('fixed', { policy: 'Static', hostPort: 27_015 })
    const list = [port('game'), fixed]
    const cases: [ports: WorldPort[], numbers: number[], expected: number[]][] = [
      [list, [7005, 27_015], [7005, 27_015]],
      [list, [6000, 27_015], [7000, 27_015]],
      [list, [7005, 27_016], [7000, 27_015]],
      [[port('game', { range: 'voice' })], [7005], [9000]],
      [[port('game', { policy: 'Passthrough', containerPort: 7005 })], [7005], [7000]],
    ]
    for (const [ports, numbers, expected] of cases) {
      const use = createHostPortUse(hostPorts)
      use.observe('a', podWith(numbers, 'one', ports))
      use.observe('a', undefined)
      expect(use.of('a').allot(aRun(ports), 0)).toEqual(expected)
    }
  })

  test('stay for each port, also of two that have one static number', () => {
    const fixed = { policy: 'Static', hostPort: 27_015 } as const
    const list = [port('a', { ...fixed, protocol: 'TCP' }), port('b', { ...fixed, protocol: 'UDP' }), port('c')]
    const use = createHostPortUse(hostPorts)
    use.observe('a', podWith([27_015, 27_015, 7005], 'one', list))
    use.observe('a', undefined)
    expect(use.of('a').allot(aRun(list), 0)).toEqual([27_015, 27_015, 7005])
  })

  test('of a replaced pod are others for ten minutes, for all worlds, also if more pods use those', () => {
    const use = createHostPortUse(hostPorts)
    use.observe('other', podWith([7001, 7002, 7003, 7004, 7005, 7006, 7007], 'one'))
    const pod = podWith(use.of('a').allot(aRun(), 0))
    use.replace('a', runA, pod, 0)
    // The pod is still seen.
    use.observe('a', pod)
    expect(use.of('a').allot(aRun(), 0)).toEqual([7001])
    expect(use.of('b').allot(aRun(), 599_999)).toEqual([7002])
    expect(use.of('c').allot(aRun(), 600_000)).toEqual([7000])
  })

  test('are those of the pod that another process made, unless that was replaced', () => {
    const use = createHostPortUse(hostPorts)
    use.observe('a', podWith([7000]))
    use.observe('a', { ...podWith([7005], 'one'), metadata: { ...podWith([]).metadata, uid: 'next' } })
    use.observe('a', undefined)
    expect(use.of('a').allot(aRun(), 0)).toEqual([7005])
  })

  test('of a stranger count, and are not those of the run', () => {
    const use = createHostPortUse(hostPorts)
    const stranger = podWith([7005], 'one')
    use.observe('a', { ...stranger, metadata: { ...stranger.metadata, ownerReferences: [] } })
    expect(use.of('b').allot(aRun(ports(7)), 0)).not.toContain(7005)
    use.observe('b', undefined)
    use.observe('a', undefined)
    expect(use.of('a').allot(aRun(), 0)).toEqual([7000])
  })
})

test('replaced pods count for their run, until one has a node or the world is gone', () => {
  const use = createHostPortUse(hostPorts)
  const own = use.of('a')
  const ends = [() => use.observe('a', podWith([7000], 'one')), () => use.forget('a')]
  for (const end of ends) {
    for (let replaced = 0; replaced < 8; replaced += 1) {
      expect(own.replaced(runA)).toBe(replaced)
      use.replace('a', runA, podWith(own.allot(aRun(), 0)), 0)
    }
    expect(own.replaced(runB)).toBe(0)
    end()
    expect(own.replaced(runA)).toBe(0)
  }
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
            const numbers = [...use.of(each.world).allot(aRun(ports(each.count), `run-${at}`), 0)]
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
