import { expect, test } from 'vitest'
import { endProgress, startProgress, withAnswer, withOutcome } from './bulk/progress.ts'
import { describeDone, groupResults, writeBulkReport } from './bulkReport.ts'

const ids = ['w-1', 'w-2', 'w-3', 'w-4']
const begun = startProgress({ kind: 'start', ids })
const results = [
  { worldId: 'w-1', status: 200 },
  { worldId: 'w-2', status: 409, code: 'limit_reached', detail: 'maxRunningCapacity is 1' },
]
const answered = withAnswer(begun, ['w-1', 'w-2'], { results }) ?? begun
const progress = endProgress(withOutcome(answered, ['w-3'], { kind: 'unknown' }))

test('groups every world by result, those that need attention first', () => {
  expect(groupResults(progress).map((group) => [group.title, group.ids.join()])).toEqual([
    ['1 failed: A limit of the organization is reached', 'w-2'],
    ['1 not known: no answer tells the result, so look at the phase', 'w-3'],
    ['1 not sent', 'w-4'],
    ['1 start accepted', 'w-1'],
  ])
})

test('says of a start that it was accepted, since the world still starts', () => {
  expect(describeDone('start', 366)).toBe('366 starts accepted')
  expect(describeDone('restart', 1)).toBe('1 restart accepted')
  expect(describeDone('start', 1, 4)).toBe('1 of 4 starts accepted')
  expect(describeDone('stop', 2)).toBe('2 worlds stopped')
})

test('writes a report in which names are text, and long lists end with their number', () => {
  const many = { title: '120 started', ids: Array.from({ length: 120 }, (_, index) => `w-${index}`) }
  const text = writeBulkReport({
    title: '1 of 4 starts accepted',
    groups: [...groupResults(progress), many],
    nameOf: (id) => (id === 'w-2' ? '[x](javascript:1)\n# a' : 'Lobby'),
    nowMs: 0,
  })
  expect(text).toMatch(
    /^## 1 of 4 starts accepted\n\n### 1 failed: A limit .*\n\nlimit\\_reached: maxRunningCapacity is 1\n\n/,
  )
  expect(text).toContain('- \\[x\\](javascript:1) # a (w-2)')
  expect(text).toContain('- and 70 more')
  expect(text).toContain('Read at 1970-01-01T00:00:00.000Z.')
})

test('tells failures with many reasons as what they are, with one detail as an example', () => {
  const many = Array.from({ length: 30 }, (_, at) => `w-${at}`)
  const groupsOf = (codeOf: (at: number) => string) =>
    groupResults(
      withAnswer(startProgress({ kind: 'start', ids: many }), many, {
        results: many.map((worldId, at) => ({ worldId, status: 403, code: codeOf(at), detail: `No ${at}.` })),
      }) ?? begun,
    )
  expect(groupsOf(() => 'forbidden')).toMatchObject([
    { title: '30 failed: Permission denied', problem: { detail: 'No 0. (an example)' } },
  ])
  expect(groupsOf((at) => `code_${at}`).at(-1)).toEqual({ title: '10 failed for other reasons', ids: many.slice(20) })
})
