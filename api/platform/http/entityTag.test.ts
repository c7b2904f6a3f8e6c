import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkConditions, entityTag, isNamed, isUnmodified, type Revision, refuseTags } from './entityTag.ts'

const failure = expect.objectContaining({ code: 'precondition_failed' })
const body = '{"name":"Lobby"}'
const current = entityTag(3, body)
const [, hash] = /^"3\.([\w-]{43})"$/.exec(current) ?? []

test('equal entity tags mean equal revisions and bodies', () => {
  const versions = fc.tuple(fc.constantFrom<Revision>(1, 2, 'bld-1'), fc.json())
  fc.assert(
    fc.property(versions, versions, ([revision, text], [other, otherText]) => {
      const isEqual = String(revision) === String(other) && text === otherText
      expect(entityTag(revision, text) === entityTag(other, otherText)).toBe(isEqual)
      expect(entityTag(revision, text)).toBe(entityTag(revision, text))
    }),
  )
})

test.each([
  ['*', true],
  [current, true],
  ['"3.other"', true],
  ['"2.a", "3.b"', true],
  ['"2.a","3.b"', true],
  ['"a,b", "3.b"', true],
  [`"2.${hash}"`, false],
  ['"33.b"', false],
  [`W/${current}`, false],
  ['3.b', false],
  ['"*"', false],
  ['', false],
])('If-Match %s holds for the revision 3: %s', (ifMatch, holds) => {
  const conditions = { ifMatch, ifNoneMatch: undefined }
  for (const check of [() => checkConditions(conditions, 3), () => isUnmodified(conditions, current)]) {
    if (holds) check()
    else expect(check).toThrow(failure)
  }
  expect(() => checkConditions(conditions, undefined)).toThrow(failure)
})

test.each([
  ['*', true, true],
  [current, true, true],
  [`W/${current}`, true, true],
  [`"2.a", ${current}`, true, true],
  ['"3.other"', false, true],
  ['"2.a"', false, false],
  [`"33.${hash}"`, false, false],
  ['3', false, false],
])('If-None-Match %s gives a read 304: %s, and a write 412: %s', (ifNoneMatch, isCurrent, isRefused) => {
  const conditions = { ifMatch: undefined, ifNoneMatch }
  expect(isUnmodified(conditions, current)).toBe(isCurrent)
  expect(isNamed(ifNoneMatch, current)).toBe(isCurrent)
  const write = () => checkConditions(conditions, 3)
  if (isRefused) expect(write).toThrow(failure)
  else write()
  checkConditions(conditions, undefined)
})

test('If-Match is evaluated before If-None-Match, and no condition is no restriction', () => {
  expect(() => isUnmodified({ ifMatch: '"2.a"', ifNoneMatch: '*' }, current)).toThrow(failure)
  const none = { ifMatch: undefined, ifNoneMatch: undefined }
  expect(isUnmodified(none, current)).toBe(false)
  for (const revision of [3, undefined]) checkConditions(none, revision)
})

test('a resource without an entity tag refuses If-Match with tags', () => {
  expect(() => refuseTags({ ifMatch: '"3.a"', ifNoneMatch: undefined })).toThrow(failure)
  for (const ifMatch of [undefined, '*']) refuseTags({ ifMatch, ifNoneMatch: undefined })
})
