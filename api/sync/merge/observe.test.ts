import { expect, test } from 'vitest'
import type { Refusal } from '#api/domain/worlds/table.ts'
import { limitPutBacks, refusalColumn } from './observe.ts'

const refused = { reasons: ['state was put back: no.'], acknowledged: true, pushAgain: true } as const

/** Writes the same refused edit once a second, and returns in which seconds it was put back. */
const writeEachSecond = (seconds: number): { readonly putBack: number[]; readonly last: Refusal | null } => {
  let last: Refusal | null = null
  let generation = 1
  const putBack: number[] = []
  for (let second = 0; second < seconds; second += 1) {
    const nowMs = second * 1_000
    const verdict = limitPutBacks(refused, { refusal: last, generation, nowMs })
    const column: { refusal?: Refusal | null } = refusalColumn({ refusal: last }, verdict, {
      liveRevision: 1,
      revision: 1,
      generation,
      nowMs,
    })
    last = column.refusal ?? last
    if (!verdict.acknowledged) continue
    putBack.push(second)
    // The push and the next write of the tool.
    generation += 2
  }
  return { putBack, last }
}

test('an edit that is written again after each refusal is put back three times, and then left', () => {
  const { putBack, last } = writeEachSecond(300)
  expect(putBack).toEqual([0, 1, 2])
  expect(last).toMatchObject({ isLeft: true, message: refused.reasons[0] })
})

test('an edit that is left is reported once', () => {
  const { last } = writeEachSecond(10)
  const again = limitPutBacks(refused, { refusal: last, generation: last?.generation ?? 0, nowMs: 10_000 })
  expect(again).toMatchObject({ reasons: [], acknowledged: false, pushAgain: false })
})

test('another edit a minute later is put back', () => {
  const { last } = writeEachSecond(10)
  const generation = (last?.generation ?? 0) + 1
  expect(limitPutBacks(refused, { refusal: last, generation, nowMs: 70_000 })).toBe(refused)
})

test('an edit beside one that is adopted is put back by the push that follows', () => {
  const { last } = writeEachSecond(10)
  const verdict = { ...refused, edit: {} }
  expect(limitPutBacks(verdict, { refusal: last, generation: 100, nowMs: 10_000 })).toBe(verdict)
})

test('a later revision in the cluster clears the refusal', () => {
  const { last } = writeEachSecond(1)
  const at = { revision: 2, generation: 9, nowMs: 0 }
  expect(refusalColumn({ refusal: last }, { reasons: [] }, { ...at, liveRevision: 2 })).toEqual({ refusal: null })
  expect(refusalColumn({ refusal: last }, { reasons: [] }, { ...at, liveRevision: 1 })).toEqual({})
})
