import { expect, test } from 'vitest'
import { type PartitionedTable, planPartitions } from './plan.ts'

const [partitionMs, retentionMs] = [15 * 60_000, 15 * 60_000]
const table: PartitionedTable = { name: 'changes', column: 'at', partitionMs, retentionMs, isUnlogged: true }
const atMs = Date.parse('2026-03-01T00:07:30Z')
const names = (nowMs: number): string[] => [...planPartitions(table, [], nowMs).make]

test('creates partitions for now and the next half hour', () => {
  expect(names(atMs)).toEqual(['changes_t202603010000', 'changes_t202603010015', 'changes_t202603010030'])
})

test('creates one more partition every quarter of an hour', () => {
  expect(planPartitions(table, names(atMs), atMs)).toEqual({ make: [], drop: [] })
  const later = planPartitions(table, names(atMs), atMs + partitionMs)
  expect(later.make).toEqual(['changes_t202603010045'])
})

test('drops a partition as soon as its last change is older than the retention', () => {
  const [first = ''] = names(atMs)
  const overMs = Date.parse('2026-03-01T00:15:00Z') + retentionMs
  const dropAt = (nowMs: number) => planPartitions(table, names(atMs), nowMs).drop
  expect(dropAt(overMs - 1)).toEqual([])
  expect(dropAt(overMs)).toEqual([first])
})

test('drops all expired partitions after a long pause', () => {
  const { drop, make } = planPartitions(table, names(atMs), atMs + 86_400_000)
  expect(drop).toEqual(names(atMs))
  expect(make).toHaveLength(3)
})

test('keeps tables that are not time partitions', () => {
  const strange = ['changes_default', 'changes_t20260301', 'changes_t209913010000', 'other']
  expect(planPartitions(table, strange, atMs).drop).toEqual([])
})
