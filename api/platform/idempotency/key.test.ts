import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseIdempotencyKey } from './key.ts'

type Request = { scope?: readonly string[]; params?: Record<string, string>; body?: unknown }
const fingerprintOf = ({ scope = ['org-1', 'prj-1'], params = {}, body = {} }: Request): string | undefined =>
  parseIdempotencyKey('key', { operationId: 'createWorld' }, scope, { params, body })?.fingerprint

/** Reverses the order of the members of all objects. */
const reversed = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, each]) => [name, reversed(each)]),
  )
}

test('a body has the same fingerprint with its members in any order', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (body) => {
      expect(fingerprintOf({ body: reversed(body) })).toBe(fingerprintOf({ body }))
    }),
  )
})

test.each<[string, Request, Request]>([
  ['values', { body: { a: 1 } }, { body: { a: 2 } }],
  ['types', { body: { a: '1' } }, { body: { a: 1 } }],
  ['orders of an array', { body: { a: [1, 2] } }, { body: { a: [2, 1] } }],
  ['members', { body: { a: { b: 1 } } }, { body: { a: 1, b: 1 } }],
  ['organizations', { scope: ['org-1', ''] }, { scope: ['org-2', ''] }],
  ['projects', { scope: ['org-1', 'prj-1'] }, { scope: ['org-1', 'prj-2'] }],
  ['paths', { params: { worldId: 'wld-1' } }, { params: { worldId: 'wld-2' } }],
])('requests with different %s have different fingerprints', (_, one, other) => {
  expect(fingerprintOf(one)).not.toBe(fingerprintOf(other))
})
