import { expect, test } from 'vitest'
import { createLogSlots, type LogReader } from './slots.ts'

const reader = (id: string, organizationId: string, more: Partial<LogReader> = {}): LogReader => ({
  principal: { kind: 'key', id, bucket: `${organizationId} ${id}`, permissions: [], claims: [] },
  organizationId,
  findEnd: async () => undefined,
  end: () => undefined,
  ...more,
})
const limits = { perKey: 2, perOrganization: 3, perReplica: 4 }

test('limits the logs of a credential, an organization and the replica', () => {
  const slots = createLogSlots(limits)
  slots.take(reader('a', 'one'))
  slots.take(reader('a', 'one'))
  expect(() => slots.take(reader('a', 'one'))).toThrow('2 logs at a time for one credential')
  slots.take(reader('b', 'one'))
  expect(() => slots.take(reader('c', 'one'))).toThrow('3 logs at a time for the organization')
  slots.take(reader('d', 'two'))
  expect(() => slots.take(reader('e', 'three'))).toThrow('4 logs at a time for the service')
})

test('the last quarter of the slots is for organizations that read no log', () => {
  const slots = createLogSlots({ perKey: 9, perOrganization: 9, perReplica: 8 })
  for (let at = 0; at < 6; at += 1) slots.take(reader('a', 'one'))
  expect(() => slots.take(reader('b', 'one'))).toThrow('8 logs at a time for the service')
  slots.take(reader('c', 'two'))
  expect(() => slots.take(reader('d', 'two'))).toThrow('8 logs at a time for the service')
  slots.take(reader('e', 'three'))
  expect(() => slots.take(reader('f', 'four'))).toThrow('8 logs at a time for the service')
})

test('users of the same name in two organizations have slots of their own', () => {
  const slots = createLogSlots(limits)
  const user = (organizationId: string): LogReader => {
    const { principal, ...others } = reader('ann', organizationId)
    return { ...others, principal: { ...principal, kind: 'user' } }
  }
  slots.take(user('one'))
  slots.take(user('one'))
  slots.take(user('two'))
  expect(() => slots.take(user('one'))).toThrow('for one credential')
})

test('a slot is released only once', () => {
  const slots = createLogSlots(limits)
  const give = slots.take(reader('a', 'one'))
  slots.take(reader('a', 'one'))
  give()
  give()
  slots.take(reader('a', 'one'))
  expect(() => slots.take(reader('a', 'one'))).toThrow('for one credential')
})

test('ends all logs when the process stops', () => {
  const slots = createLogSlots(limits)
  const ended: string[] = []
  for (const key of ['a', 'b']) slots.take(reader(key, 'one', { end: (reason) => void ended.push(`${key} ${reason}`) }))
  slots.endAll()
  expect(ended).toEqual(['a Shutdown', 'b Shutdown'])
})
