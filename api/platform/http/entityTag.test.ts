import { expect, test } from 'vitest'
import { checkIfMatch, entityTag } from './entityTag.ts'

test('builds an entity tag from revision and status version', () => {
  expect([entityTag({ revision: 3, statusVersion: 7 }), entityTag({ revision: 3 })]).toEqual(['"3.7"', '"3.0"'])
})

test.each([
  [undefined, true],
  ['*', true],
  ['"3.7"', true],
  ['"3.6"', true],
  ['"2.7"', false],
  ['"33.0"', false],
  ['"2.0", "3.0"', true],
  ['W/"3.7"', false],
  ['3.7', false],
  ['', false],
])('If-Match %s matches revision 3: %s', (ifMatch, holds) => {
  const attempt = () => checkIfMatch(ifMatch, { revision: 3, statusVersion: 7 })
  if (holds) attempt()
  else expect(attempt).toThrow(expect.objectContaining({ code: 'precondition_failed' }))
})
