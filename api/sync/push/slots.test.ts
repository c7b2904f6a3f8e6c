import { expect, test } from 'vitest'
import type { Claimed } from '#api/platform/outbox/outbox.ts'
import { createPushSlots } from './slots.ts'

const mark = (organizationId: string): Claimed => ({
  kind: 'world',
  id: organizationId,
  revision: 1,
  epoch: 1,
  attempts: 0,
  cluster: 'default',
  organizationId,
  traceparent: null,
})
const marks = (organizationId: string, count: number) => Array.from({ length: count }, () => mark(organizationId))

const begin = (turns: ReturnType<typeof createPushSlots>, claimed: Claimed[], last?: string) => {
  const turn = turns.next()
  if (turn === undefined) throw new Error('No slot is free.')
  return turns.begin(turn, { claimed, last })
}

test('the last slots are for organizations without a slot, one for each', () => {
  const turns = createPushSlots({ slots: 8, reserve: 2, maxOfOne: 4 })
  expect(turns.next()).toMatchObject({ limit: 6, maxOfOne: 4, except: [] })
  begin(turns, marks('a', 4))
  begin(turns, marks('a', 2))
  expect(turns.next()).toMatchObject({ limit: 2, maxOfOne: 1, except: ['a'] })
  begin(turns, marks('b', 1))
  expect(turns.next()).toMatchObject({ limit: 1, maxOfOne: 1, except: ['a', 'b'] })
  begin(turns, marks('c', 1))
  expect(turns.next()).toBeUndefined()
})

test('an organization that waited for one of the first slots gets it when one is free', () => {
  const turns = createPushSlots({ slots: 4, reserve: 1, maxOfOne: 4 })
  begin(turns, marks('a', 3))
  begin(turns, marks('b', 1))
  expect([turns.end('b'), turns.next()?.except]).toEqual([true, ['a']])
  expect([turns.end('a'), turns.next()?.limit]).toEqual([true, 1])
  expect([turns.end('a'), turns.end('a')]).toEqual([false, false])
})

test('goes on behind the last organization, and ends when all were seen and none may have more', () => {
  const turns = createPushSlots({ slots: 32, reserve: 8, maxOfOne: 8 })
  expect(begin(turns, marks('a', 8))).toBe(true)
  expect(begin(turns, marks('a', 3))).toBe(false)
  expect(begin(turns, [...marks('a', 5), ...marks('b', 5)], 'b')).toBe(true)
  expect(turns.next()?.after).toBe('b')
  expect(begin(turns, [])).toBe(true)
  expect(turns.next()?.after).toBeUndefined()
  expect(begin(turns, [])).toBe(false)
})
