import { expect, test } from 'vitest'
import { changedPaths } from './changes.ts'

test('equal values have no changed paths', () => {
  expect(changedPaths({ phase: 'Active', run: { id: 'a' } }, { run: { id: 'a' }, phase: 'Active' })).toEqual([])
})

test('changed, new and missing fields are paths of at most two fields', () => {
  const before = { phase: 'Starting', run: { id: 'a', restarts: 0 }, message: 'waiting' }
  const after = { phase: 'Active', run: { id: 'a', restarts: 0, readyAt: 'now' }, address: { host: 'h' } }
  expect(changedPaths(before, after)).toEqual(['address', 'message', 'phase', 'run.readyAt'])
  expect(changedPaths({ a: { b: { c: 1 } } }, { a: { b: { c: 2 } } })).toEqual(['a.b'])
  expect(changedPaths({ list: [1] }, { list: [2] })).toEqual(['list'])
})
