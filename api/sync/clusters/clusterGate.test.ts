import { expect, test } from 'vitest'
import { findRefusal } from './clusterGate.ts'

const known = { uid: 'a', version: '100', refusal: null }

test.each([
  { title: 'the same version', seen: { uid: 'a', version: '100' }, refusal: null },
  { title: 'a later version', seen: { uid: 'a', version: '1000' }, refusal: null },
  { title: 'an earlier version', seen: { uid: 'a', version: '99' }, refusal: 'RestoredCluster' },
  { title: 'another uid', seen: { uid: 'b', version: '5' }, refusal: 'AnotherCluster' },
])('$title: refusal is $refusal', ({ seen, refusal }) => {
  expect(findRefusal(known, seen)).toBe(refusal)
})

test('any version of an accepted cluster is accepted while none is recorded', () => {
  expect(findRefusal({ ...known, version: '' }, { uid: 'a', version: '7' })).toBeNull()
})

test('a restored cluster stays refused while its version grows', () => {
  expect(findRefusal({ ...known, refusal: 'RestoredCluster' }, { uid: 'a', version: '1000' })).toBe('RestoredCluster')
})
