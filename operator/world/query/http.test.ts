import { expect, test } from 'vitest'
import { fc } from '#test/support/fastCheck.ts'
import { readHttpAnswer } from './http.ts'

test('reads the counts, and the other facts if their types are right', () => {
  expect(readHttpAnswer('{"active":3,"queued":1,"more":true}')).toEqual({
    kind: 'report',
    report: { players: 3, queued: 1 },
  })
  expect(readHttpAnswer('{"active":-3,"queued":1e999,"capacity":30,"version":"7","map":"hall"}')).toEqual({
    kind: 'report',
    report: { players: -3, queued: Number.POSITIVE_INFINITY, capacity: 30, version: '7', map: 'hall' },
  })
  expect(readHttpAnswer('{"active":3,"queued":1,"capacity":"30","version":7,"map":null}')).toEqual({
    kind: 'report',
    report: { players: 3, queued: 1 },
  })
})

test.each([
  ['ok', 'is not an object in JSON'],
  ['', 'is not an object in JSON'],
  ['null', 'is not an object in JSON'],
  ['[{"active":3}]', 'is not an object in JSON'],
  ['[', 'is not an object in JSON'],
  ['['.repeat(60_000), 'is not an object in JSON'],
  ['{}', 'has no numbers active and queued'],
  ['{"active":"3","queued":1}', 'has no numbers active and queued'],
  ['{"active":3}', 'has no numbers active and queued'],
])('finds the fault of %.40s', (body, fault) => {
  expect(readHttpAnswer(body)).toEqual({ kind: 'fault', fault })
})

test('never throws', () => {
  fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (body) => void readHttpAnswer(body)))
})
