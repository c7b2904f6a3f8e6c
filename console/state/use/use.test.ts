import { expect, test } from 'vitest'
import { fc } from '#test/support/fastCheck.ts'
import { chartHeight, chartWidth, toChart } from './chart.ts'
import { delayOfReading, noReadings, type Readings, withFailure, withSample } from './readings.ts'
import { describeOutcome, describeUse, measures, warnOf } from './words.ts'

const sampleAt = (seconds: number, externalId = 'pod-1') => ({
  externalId,
  sampledAt: new Date(seconds * 1_000).toISOString(),
  windowSeconds: 15,
  cpuMillicores: 420,
  memoryBytes: 2 ** 30,
})
/** Returns the readings after samples at seconds since 1970. `none` is an answer that there is no sample. */
const after = (...seconds: (number | 'none')[]): Readings =>
  seconds.reduce<Readings>(
    (readings, each) =>
      each === 'none' ? withFailure(readings, { status: 409 }) : withSample(readings, sampleAt(each)),
    noReadings,
  )
const lines = ({ samples }: Readings): number[] => samples.map(({ line }) => line)

test('keeps each sample once, and none that is older than the last', () => {
  expect(after(15, 30, 30, 15, 45).samples.map(({ atMs }) => atMs)).toEqual([15_000, 30_000, 45_000])
  expect(withSample(after(15), { ...sampleAt(30), sampledAt: 'soon' }).samples).toHaveLength(1)
})

test('keeps the samples of 30 minutes, and never more than one each 15 s', () => {
  const many = after(...Array.from({ length: 200 }, (_, index) => 15 * index))
  expect(many.samples).toHaveLength(121)
  expect(many.samples.at(-1)?.atMs).toBe(199 * 15_000)
  expect(after(...Array.from({ length: 300 }, (_, index) => index)).samples).toHaveLength(121)
})

test('begins a line for another pod, after an answer without a sample, and after a time without samples', () => {
  expect(lines(after(15, 30, 45))).toEqual([1, 1, 1])
  expect(lines(withSample(after(15, 30), sampleAt(45, 'pod-2')))).toEqual([1, 1, 2])
  expect(lines(after(15, 'none', 30, 45))).toEqual([1, 2, 2])
  expect(lines(after(15, 200))).toEqual([1, 2])
})

test('keeps the samples when a reading fails, with the reason', () => {
  const failed = withFailure(after(15), new TypeError('Failed to fetch'))
  expect(failed.samples).toHaveLength(1)
  expect(failed.outcome).toMatchObject({ kind: 'failed', fault: { title: 'The API cannot be reached' } })
  expect(lines(withSample(failed, sampleAt(30)))).toEqual([1, 1])
  expect(withFailure(noReadings, { status: 501 }).outcome).toEqual({ kind: 'absent' })
})

test('reads every 15 s while a server runs and the tab is visible, and every 5 minutes without metrics', () => {
  const now = {
    outcome: { kind: 'sample' },
    isReading: false,
    isHidden: false,
    hasServer: true,
    startedAtMs: 1_000,
    nowMs: 3_000,
  } as const
  expect(delayOfReading(now)).toBe(13_000)
  expect(delayOfReading({ ...now, outcome: { kind: 'absent' } })).toBe(298_000)
  expect(delayOfReading({ ...now, startedAtMs: Number.NEGATIVE_INFINITY })).toBe(0)
  // A clock that was set back must not delay the next reading.
  expect(delayOfReading({ ...now, nowMs: -3_600_000 })).toBe(15_000)
  for (const reason of [{ isReading: true }, { isHidden: true }, { hasServer: false }]) {
    expect(delayOfReading({ ...now, ...reason })).toBeUndefined()
  }
})

test('draws a line from left to right between 0 and the limit', () => {
  const points = [0, 60_000, 120_000].map((atMs, index) => ({ atMs, value: 50 * index, line: 1 }))
  const chart = toChart(points, 100)
  expect(chart).toEqual({ paths: ['M0 80L150 43.6L300 7.3'], limitY: 7.3, markY: 14.5, fromMs: 0, toMs: 120_000 })
})

test('draws one sample as a dot at the right end, and a line for each server', () => {
  expect(toChart([{ atMs: 500_000, value: 0, line: 1 }], 0)).toEqual({
    paths: ['M300 80h0'],
    fromMs: 380_000,
    toMs: 500_000,
  })
  const points = [1, 1, 2].map((line, index) => ({ atMs: index * 60_000, value: 1, line }))
  expect(toChart(points, 0).paths).toHaveLength(2)
})

test('draws only numbers inside of the chart, whatever the values', () => {
  const value = fc.double({ min: 0, max: 1e15, noNaN: true })
  fc.assert(
    fc.property(fc.array(value, { minLength: 1, maxLength: 30 }), value, (values, limit) => {
      const chart = toChart(
        values.map((each, index) => ({ atMs: index * 15_000, value: each, line: index % 3 })),
        limit,
      )
      for (const path of chart.paths) {
        expect(path).toMatch(/^M[\d.]+ [\d.]+(L[\d.]+ [\d.]+)*(h0)?$/)
        for (const [, x, y] of path.matchAll(/([\d.]+) ([\d.]+)/g)) {
          expect(Number(x)).toBeLessThanOrEqual(chartWidth)
          expect(Number(y)).toBeLessThanOrEqual(chartHeight)
        }
      }
    }),
  )
})

test('says a use with its limit, and warns above 90 % of it', () => {
  const [cpu, memory] = measures
  if (cpu === undefined || memory === undefined) throw new Error('There are two measures')
  expect(describeUse(cpu, 420, 2_000)).toBe('0.42 cores of 2 cores (21 %)')
  expect(describeUse(cpu, 1_000, 0)).toBe('1 core, without a limit')
  expect(describeUse(memory, 1.5 * 2 ** 30, 4 * 2 ** 30)).toBe('1.5 GiB of 4 GiB (37 %)')
  expect([900, 901].map((value) => warnOf(cpu, value, 1_000))).toEqual([
    '',
    'CPU is above 90 % of its limit. At the limit the server is slowed down.',
  ])
  expect(warnOf(memory, 5, 0)).toBe('')
})

test('says what the last reading said, unless it was a sample', () => {
  const none = withFailure(noReadings, { status: 409 })
  expect([describeOutcome(after(15), true), describeOutcome(after(15), false)]).toEqual(['', 'No server runs now.'])
  expect(describeOutcome(none, true)).toMatch(/^No sample yet/)
  expect(describeOutcome(withFailure(after(15), { status: 409 }), true)).toMatch(/^No sample of the present server yet/)
  expect(describeOutcome(withFailure(after(15), { status: 501 }), true)).toMatch(/no metrics any more/)
  expect(describeOutcome(withFailure(after(15), new TypeError()), true)).toMatch(/failed. The API cannot be reached/)
})
