import { expect, test } from 'vitest'
import { remember } from './remember.ts'
import { aRow } from './testing/row.ts'

test('computes the value of each row once, also if it is empty', () => {
  const computed: string[] = []
  const read = remember(({ id, reason }) => {
    computed.push(id)
    return reason
  })
  const [first, second] = [aRow({ id: 'a' }), aRow({ id: 'b', reason: 'CrashLoop' })]
  expect([first, second, first, second].map(read)).toEqual(['', 'CrashLoop', '', 'CrashLoop'])
  expect(computed).toEqual(['a', 'b'])
})
