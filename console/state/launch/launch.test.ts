import { expect, test } from 'vitest'
import { parseFilter } from '#console/state/filter.ts'
import type { Row } from '#console/state/row.ts'
import { aRow } from '#console/state/testing/row.ts'
import { maxSlowest, toLaunch } from './launch.ts'

const nowMs = 10_000_000
/** A run that was requested some seconds ago, and became ready after others if it did. */
const run = (agoS: number, readyAfterS: number | undefined, members: Partial<Row> = {}): Row => {
  const startedAtMs = nowMs - agoS * 1_000
  const readySinceMs = readyAfterS === undefined ? 0 : startedAtMs + readyAfterS * 1_000
  return aRow({ startedAtMs, readySinceMs, ...members })
}
const isPending = { phase: 'Starting', reason: 'Unschedulable', message: 'No node has room for the server.' } as const
const isStarting = { phase: 'Starting', reason: 'ImagePullFailed', message: 'The image cannot be pulled.' } as const
const launchOf = (rows: Row[], { filter = '', fromMs = 1 } = {}) =>
  toLaunch({ rows, filter: parseFilter(filter), fromMs, nowMs })

test('counts the worlds of the filter in each stage whose run was requested at the time or later', () => {
  const launch = launchOf(
    [
      run(60, 12),
      run(60, 12, { name: 'Arena' }),
      run(61, 12),
      run(50, undefined, isPending),
      run(50, undefined, isStarting),
      run(50, undefined, { phase: 'Error', reason: 'StartDeadline' }),
      run(50, undefined, { phase: 'Stopped' }),
      run(50, undefined, { phase: 'Inactive' }),
      aRow({ startedAtMs: 0, readySinceMs: 0, phase: 'Inactive' }),
    ],
    { filter: 'lobby', fromMs: nowMs - 60_000 },
  )
  expect(launch).toMatchObject({
    selected: 8,
    total: 6,
    counts: { pending: 1, starting: 1, active: 1, error: 1, ended: 2 },
  })
})

test('counts a start that waits for a limit beside the runs', () => {
  const waits = aRow({ startedAtMs: 0, readySinceMs: 0, phase: 'Inactive', reason: 'StartWaits' })
  expect(launchOf([waits, waits, run(5, 1)])).toMatchObject({ selected: 3, total: 1, waiting: 2 })
})

test('takes the quantiles of the worlds that are ready, and counts an active one that is not beside them', () => {
  const rows = [1, 2, 3, 4, 10].map((after) => run(60, after))
  const { times } = launchOf([...rows, run(60, undefined), run(600, undefined, isStarting)])
  expect(times).toMatchObject({ ready: 5, notReady: 1, p50Ms: 3_000, p95Ms: 10_000 })
})

test('leaves a server that became ready again out of the figures, the slowest and the progress, and counts it beside', () => {
  const launch = launchOf([run(3_600, 20), run(3_600, 2_760), run(60, undefined)])
  expect(launch.times).toMatchObject({ ready: 1, again: 1, notReady: 1, p50Ms: 20_000, p95Ms: 20_000 })
  expect(launch.slowest.map(({ ms }) => ms)).toEqual([20_000])
  expect(launch.progress.at(-1)).toMatchObject({ requested: 3, ready: 1 })
  expect(launch.counts.active).toBe(3)
})

test('lists the slowest worlds, with the time so far of those that still start', () => {
  const failed = { phase: 'Error', reason: 'StartDeadline' } as const
  const { slowest } = launchOf([
    run(900, undefined, failed),
    run(60, 12),
    run(600, undefined, isPending),
    run(60, 40),
    run(-1, undefined, isStarting),
    run(60, undefined),
  ])
  expect(slowest.map(({ stage, ms }) => [stage, ms])).toEqual([
    ['pending', 600_000],
    ['active', 40_000],
    ['active', 12_000],
    // A request from the future of this clock.
    ['starting', 0],
  ])
})

test('lists at most 20 of the slowest, in the order of ids if they are equal', () => {
  const rows = Array.from({ length: 50 }, (_, index) => run(99, 1 + (index % 16), { id: `world-${index + 10}` }))
  const { slowest } = launchOf(rows)
  expect(slowest).toHaveLength(maxSlowest)
  expect(slowest.slice(0, 3).map(({ row, ms }) => [row.id, ms])).toEqual([
    ['world-25', 16_000],
    ['world-41', 16_000],
    ['world-57', 16_000],
  ])
})

test('groups the reasons of the runs that count, and of no other world', () => {
  const { reasons } = launchOf([run(60, undefined, isPending), run(90, undefined, isStarting)], {
    fromMs: nowMs - 60_000,
  })
  expect(reasons.map(({ reason, count }) => [reason, count])).toEqual([['Unschedulable', 1]])
})

test('shows the progress until now while a run starts, and until the last one was ready afterwards', () => {
  const ready = [run(60, 12), run(50, 4)]
  const last = (rows: Row[]) => launchOf(rows).progress.at(-1)
  expect(last(ready)).toEqual({ atMs: nowMs - 46_000, requested: 2, ready: 2 })
  expect(last([...ready, run(10, undefined, isPending)])).toEqual({ atMs: nowMs, requested: 3, ready: 2 })
})
