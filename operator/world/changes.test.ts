import { expect, test } from 'vitest'
import { changedPaths } from './changes.ts'

test('a status that is written again as it was has no changes', () => {
  expect(changedPaths({ phase: 'Active', run: { id: 'a' } }, { run: { id: 'a' }, phase: 'Active' })).toEqual([])
})

test('changes are named by their path, two fields deep, with what came and what went', () => {
  const before = { phase: 'Starting', run: { id: 'a', restarts: 0 }, message: 'waiting' }
  const after = { phase: 'Active', run: { id: 'a', restarts: 0, readyAt: 'now' }, address: { host: 'h' } }
  expect(changedPaths(before, after)).toEqual(['address', 'message', 'phase', 'run.readyAt'])
  expect(changedPaths({ a: { b: { c: 1 } } }, { a: { b: { c: 2 } } })).toEqual(['a.b'])
  expect(changedPaths({ list: [1] }, { list: [2] })).toEqual(['list'])
})
