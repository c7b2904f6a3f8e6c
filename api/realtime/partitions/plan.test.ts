import { expect, test } from 'vitest'
import { partitionMs, planPartitions, retentionMs } from './plan.ts'

const atMs = Date.parse('2026-03-01T00:07:30Z')
const names = (nowMs: number): string[] => planPartitions([], nowMs).make.map(({ name }) => name)

test('creates gapless partitions for now and the next half hour', () => {
  const { make } = planPartitions([], atMs)
  expect(make[0]).toEqual({
    name: 'realtime_changes_t202603010000',
    fromMs: Date.parse('2026-03-01T00:00:00Z'),
    toMs: Date.parse('2026-03-01T00:15:00Z'),
  })
  for (const [at, { fromMs }] of make.slice(1).entries()) expect(fromMs).toBe(make[at]?.toMs)
  expect(make.at(-1)?.toMs).toBe(Date.parse('2026-03-01T00:45:00Z'))
})

test('creates one more partition every quarter of an hour', () => {
  expect(planPartitions(names(atMs), atMs)).toEqual({ make: [], drop: [] })
  const later = planPartitions(names(atMs), atMs + partitionMs)
  expect(later.make.map(({ name }) => name)).toEqual(['realtime_changes_t202603010045'])
})

test('drops a partition as soon as its last change is older than the retention', () => {
  const [first = ''] = names(atMs)
  const overMs = Date.parse('2026-03-01T00:15:00Z') + retentionMs
  const dropAt = (nowMs: number) => planPartitions(names(atMs), nowMs).drop
  expect(dropAt(overMs - 1)).toEqual([])
  expect(dropAt(overMs)).toEqual([first])
})

test('drops all expired partitions after a long pause', () => {
  const { drop, make } = planPartitions(names(atMs), atMs + 86_400_000)
  expect(drop).toEqual(names(atMs))
  expect(make).toHaveLength(3)
})

test('keeps tables that are not time partitions', () => {
  const strange = ['realtime_changes_default', 'realtime_changes_t20260301', 'realtime_changes_t209913010000', 'other']
  expect(planPartitions(strange, atMs).drop).toEqual([])
})
