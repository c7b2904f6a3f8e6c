import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createBudget } from './budget.ts'

test('refuses what exceeds the share of a group or the total, and says which', () => {
  const { open, heldBytes } = createBudget({ total: 100, perGroup: 15, free: 10 })
  expect(open('a').hold(20)).toBeUndefined()
  expect(open('a').hold(16)).toBe('group')
  expect(open('b').hold(26)).toBe('group')
  expect(open(undefined).hold(80)).toBeUndefined()
  expect(open('b').hold(15)).toBe('total')
  expect(open(undefined).hold(31)).toBe('total')
  expect(open(undefined).hold(30)).toBeUndefined()
  expect(heldBytes()).toBe(100)
})

test('keeps room for a group that holds nothing, however many others hold all that they can', () => {
  const { open } = createBudget({ total: 1_000, perGroup: 1_000, free: 0 })
  const rooms = Array.from({ length: 9 }, (_, at) => {
    const lease = open(`group ${at}`)
    const room = lease.available()
    expect([lease.hold(room + 1), lease.hold(room), open(`group ${at}`).hold(1)]).toEqual(['total', undefined, 'group'])
    return room
  })
  expect(rooms).toEqual([200, 160, 128, 102, 82, 65, 52, 42, 33])
})

test('always lets a lease hold its free bytes', () => {
  const { open } = createBudget({ total: 5, perGroup: 1, free: 10 })
  expect(open('a').hold(11)).toBeUndefined()
  expect(open('a').hold(10)).toBeUndefined()
  expect(open('a').hold(11)).toBe('group')
})

test('tells how many bytes a lease could hold', () => {
  const { open } = createBudget({ total: 1_000, perGroup: 60, free: 10 })
  const [first, second, other] = [open('a'), open('a'), open('b')]
  expect(first.hold(30)).toBeUndefined()
  expect([first, second, other, open(undefined)].map(({ available }) => available())).toEqual([70, 50, 70, 990])
  expect(first.hold(70)).toBeUndefined()
  expect(second.available()).toBe(10)
  expect(second.hold(11)).toBe('group')
})

test('gives back what exceeds the bytes that a lease keeps', () => {
  const { open, heldBytes } = createBudget({ total: 500, perGroup: 100, free: 10 })
  const lease = open('a')
  lease.hold(60)
  lease.keep(70)
  expect(heldBytes()).toBe(50)
  lease.keep(30)
  expect(heldBytes()).toBe(20)
  lease.keep(5)
  expect(heldBytes()).toBe(0)
  lease.end()
  expect(heldBytes()).toBe(0)
})

test('gives back what a lease held, once', () => {
  const { open, heldBytes } = createBudget({ total: 500, perGroup: 100, free: 0 })
  const [first, second] = [open('a'), open('a')]
  first.hold(30)
  second.hold(40)
  first.end()
  first.end()
  expect(heldBytes()).toBe(40)
})

test('holds the most that each open lease was granted, within its limits', () => {
  const steps = fc.array(fc.record({ lease: fc.nat(5), bytes: fc.nat(60), ends: fc.boolean() }), { maxLength: 60 })
  const property = fc.property(steps, (actions) => {
    const { open, heldBytes } = createBudget({ total: 100, perGroup: 50, free: 5 })
    const leases = Array.from({ length: 6 }, (_, at) => ({ lease: open(`group ${at % 3}`), held: 0 }))
    for (const { lease: at, bytes, ends } of actions) {
      const each = leases[at]
      if (each === undefined) continue
      if (ends) {
        each.lease.end()
        each.held = 0
      } else if (each.lease.hold(bytes) === undefined) each.held = Math.max(each.held, bytes - 5)
      const heldBy = (group: number) => leases.reduce((sum, { held }, i) => sum + (i % 3 === group ? held : 0), 0)
      const groups = [0, 1, 2].map(heldBy)
      if (groups.some((held) => held > 50)) return false
      if (heldBytes() !== groups.reduce((sum, held) => sum + held, 0) || heldBytes() > 100) return false
    }
    return true
  })
  fc.assert(property)
})
