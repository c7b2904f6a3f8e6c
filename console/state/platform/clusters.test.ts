import { expect, test } from 'vitest'
import type { SyncStatusCluster } from '#client/operations.ts'
import { countRowsElsewhere, describeCluster, describeRows } from './clusters.ts'

test('marks a refused cluster, with what the API says about it', () => {
  expect(describeCluster({ state: 'Accepted', message: '' })).toEqual({ name: 'Accepted', detail: '', isBad: false })
  expect(describeCluster({ state: 'AnotherCluster', message: 'Its uid is u.' })).toEqual({
    name: 'Refused: another cluster',
    detail: 'Its uid is u.',
    isBad: true,
  })
})

test('marks rows that wait for a minute', () => {
  expect(describeRows({ count: 0, oldestSeconds: 0 })).toEqual({ name: '0', detail: '', isBad: false })
  expect(describeRows({ count: 1_200, oldestSeconds: 59 })).toEqual({
    name: '1,200',
    detail: 'The oldest for 59 s',
    isBad: false,
  })
  expect(describeRows({ count: 1, oldestSeconds: 60 })).toMatchObject({ detail: 'The oldest for 1 min', isBad: true })
})

test('counts the rows of clusters that are not listed', () => {
  const cluster = { dirtyRows: { count: 2, oldestSeconds: 1 } } as SyncStatusCluster
  const dirtyRows = { count: 5, oldestSeconds: 1 }
  expect(countRowsElsewhere({ clusters: [cluster], dirtyRows })).toBe(3)
  expect(countRowsElsewhere({ clusters: [cluster, cluster, cluster], dirtyRows })).toBe(0)
})
