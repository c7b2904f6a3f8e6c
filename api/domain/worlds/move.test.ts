import { expect, test } from 'vitest'
import { movesAtOnce, toMoveColumns } from './move.ts'

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

const asleepSince = '2026-01-01T12:00:00.000Z'

test.each<[string, Parameters<typeof movesAtOnce>[0], boolean]>([
  ['runs moves at its next start', { state: 'Running', phase: 'Active', idle: null }, false],
  ['sleeps moves at its next start', { state: 'Running', phase: 'Stopped', idle: { asleepSince } }, false],
  ['was stopped moves at once', { state: 'Stopped', phase: 'Stopped', idle: null }, true],
  ['has ended by itself moves at once', { state: 'Running', phase: 'Stopped', idle: null }, true],
])('a world that %s', (_, row, expected) => {
  expect(movesAtOnce(row)).toBe(expected)
})
