import { expect, test } from 'vitest'
import type { BulkKind } from './plan.ts'
import {
  countOutcomes,
  endProgress,
  groupFailures,
  idsWith,
  nextPiece,
  repeatProgress,
  startProgress,
  withAnswer,
  withDoubt,
  withOutcome,
} from './progress.ts'

const idsOf = (count: number): string[] => Array.from({ length: count }, (_, at) => `wld-${at}`)
const aProgress = (count: number, kind: BulkKind = 'start') => startProgress({ kind, ids: idsOf(count) })
const ok = (worldId: string) => ({ worldId, status: 200 })
const no = (worldId: string, code: string, detail = '') => ({ worldId, status: 409, code, detail })
const answer = (progress: ReturnType<typeof aProgress>, results: unknown) => {
  const next = withAnswer(progress, nextPiece(progress), results)
  if (next === undefined) throw new Error('no answer')
  return next
}
const problem = { status: 403, code: 'forbidden', detail: 'No.' }

test('sends all worlds in pieces of 50, in the order of the plan, each once', () => {
  let progress = aProgress(120)
  const pieces: string[][] = []
  for (let piece = nextPiece(progress); piece.length > 0; piece = nextPiece(progress)) {
    pieces.push([...piece])
    progress = answer(progress, { results: piece.map(ok) })
  }
  expect(pieces.map(({ length }) => length)).toEqual([50, 50, 20])
  expect(pieces.flat()).toEqual(idsOf(120))
  expect(countOutcomes(progress)).toEqual({ waiting: 0, done: 120, failed: 0, unknown: 0, skipped: 0 })
})

test('has the outcome of each world', () => {
  const progress = answer(aProgress(52), { results: [no('wld-1', 'limit_reached', 'No room.'), ok('wld-0')] })
  expect(countOutcomes(progress)).toEqual({ waiting: 2, done: 1, failed: 1, unknown: 48, skipped: 0 })
  expect(progress.outcomes.get('wld-1')).toEqual({
    kind: 'failed',
    problem: { status: 409, code: 'limit_reached', detail: 'No room.' },
  })
  expect(idsWith(progress, 'failed', 'done')).toEqual(['wld-0', 'wld-1'])
})

test('takes no outcome for a world that it did not ask about, or from a result without a meaning', () => {
  const results = [ok('wld-7'), { worldId: 'wld-0', status: '200' }, null, 'wld-1', { status: 200 }]
  const progress = answer(aProgress(2), { results })
  expect([...progress.outcomes]).toEqual([
    ['wld-0', { kind: 'unknown' }],
    ['wld-1', { kind: 'unknown' }],
  ])
})

test.each([undefined, null, '<html>', 7, [], {}, { results: null }, { results: 'wld-0' }])(
  '%j is no answer',
  (body) => {
    expect(withAnswer(aProgress(1), ['wld-0'], body)).toBeUndefined()
  },
)

test('reads a failure without words, and cuts long ones', () => {
  const results = [{ worldId: 'wld-0', status: 500 }, no('wld-1', 'conflict', 'x'.repeat(5_000))]
  const { outcomes } = answer(aProgress(2), { results })
  expect(outcomes.get('wld-0')).toEqual({ kind: 'failed', problem: { status: 500, code: '', detail: '' } })
  expect(JSON.stringify(outcomes.get('wld-1')).length).toBeLessThan(400)
  const long = { ...problem, detail: 'x'.repeat(5_000) }
  const refused = withOutcome(aProgress(1), ['wld-0'], { kind: 'failed', problem: long })
  expect(JSON.stringify(refused.outcomes.get('wld-0')).length).toBeLessThan(400)
})

test('counts a world as deleted that an earlier request with a lost answer deleted', () => {
  const gone = { results: [{ worldId: 'wld-0', status: 404, code: 'not_found' }] }
  const doubted = withDoubt(aProgress(1, 'delete'), ['wld-0'])
  expect(countOutcomes(answer(doubted, gone)).done).toBe(1)
  const unknown = withOutcome(aProgress(1, 'delete'), ['wld-0'], { kind: 'unknown' })
  expect(countOutcomes(answer(repeatProgress(unknown, ['wld-0']), gone)).done).toBe(1)
  expect(countOutcomes(answer(aProgress(1, 'delete'), gone)).failed).toBe(1)
  expect(countOutcomes(answer(withDoubt(aProgress(1), ['wld-0']), gone)).failed).toBe(1)
})

test('skips the rest at the end, except worlds of which an answer was lost', () => {
  const progress = endProgress(withDoubt(answer(aProgress(110), { results: [] }), idsOf(60).slice(50)))
  expect(countOutcomes(progress)).toEqual({ waiting: 0, done: 0, failed: 0, unknown: 60, skipped: 50 })
})

test('groups failures by status and code, the largest group first, with an example of the details', () => {
  const results = [no('wld-0', 'conflict', 'A'), no('wld-1', 'limit_reached', 'B'), no('wld-2', 'limit_reached', 'C')]
  expect(groupFailures(answer(aProgress(3), { results }))).toEqual([
    { problem: { status: 409, code: 'limit_reached', detail: 'B' }, isExample: true, ids: ['wld-1', 'wld-2'] },
    { problem: { status: 409, code: 'conflict', detail: 'A' }, isExample: false, ids: ['wld-0'] },
  ])
  expect(groupFailures(aProgress(3))).toEqual([])
})

test('has a bound of groups, and the rest has no reason of another', () => {
  const groups = groupFailures(answer(aProgress(40), { results: idsOf(40).map((id) => no(id, id)) }))
  expect(groups).toHaveLength(21)
  expect(groups.at(-1)).toEqual({ problem: undefined, isExample: false, ids: idsOf(40).slice(20) })
})

test('repeats the named worlds, and never what is done', () => {
  const ended = endProgress(answer(aProgress(60), { results: [ok('wld-0'), no('wld-1', 'conflict')] }))
  const again = repeatProgress(ended, ['wld-0', 'wld-1', 'wld-55'])
  expect(nextPiece(again)).toEqual(['wld-1', 'wld-55'])
  expect(countOutcomes(again)).toEqual({ waiting: 2, done: 1, failed: 0, unknown: 48, skipped: 9 })
})

test('keeps the progress before', () => {
  const progress = aProgress(1)
  withOutcome(progress, ['wld-0'], { kind: 'failed', problem })
  expect(countOutcomes(progress).waiting).toBe(1)
})
