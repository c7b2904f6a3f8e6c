import { expect, test } from 'vitest'
import { toMoveColumns } from './move.ts'

const compute = { group: 'production', region: 'Europe', version: '' } as const
const row = { cluster: 'eu', targetCluster: null, compute }

test.each([
  ['stays in the cluster of its place', row, 'eu', {}],
  ['stays if no cluster serves its place', row, undefined, {}],
  ['moves to another cluster', row, 'us', { targetCluster: 'us' }],
  ['moves on to a third cluster', { ...row, targetCluster: 'us' }, 'asia', { targetCluster: 'asia' }],
  ['finishes a move that leads back', { ...row, targetCluster: 'us' }, 'eu', { targetCluster: 'eu' }],
])('a world %s', (_, world, cluster, columns) => {
  expect(toMoveColumns(world, () => cluster)).toEqual(columns)
})
