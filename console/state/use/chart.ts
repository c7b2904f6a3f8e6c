import { keptMs, type Sample } from './readings.ts'

/** A value at a time, in the line with a number. */
export type Point = { readonly atMs: number; readonly value: number; readonly line: number }

/** The size of a chart in its own units. The page stretches it. */
export const chartWidth = 300
export const chartHeight = 80

/** A chart in its own units, whose y goes down from 0. */
export type Chart = {
  /** The path of each line, as the attribute `d` of SVG has it. A line of one sample is a dot. */
  readonly paths: readonly string[]
  /** The y of the limit and of 90 % of it. Absent without a limit. */
  readonly limitY?: number
  readonly markY?: number
  /** The times at the left and the right end. */
  readonly fromMs: number
  readonly toMs: number
}

/** The shortest time that a chart shows, so that the first samples are near its right end. */
const minSpanMs = 2 * 60_000
/** The part of the height above the highest value. */
const headroom = 1.1

/** The part of a limit from which on the page warns. */
export const warnAt = 0.9

/** Returns the chart of at least one point, oldest first. It begins at 0 and shows the limit, which is 0 if there is none. */
export const toChart = (points: readonly Point[], limit: number): Chart => {
  const toMs = points.at(-1)?.atMs ?? 0
  const fromMs = Math.max(toMs - keptMs, Math.min(points[0]?.atMs ?? 0, toMs - minSpanMs))
  const top = Math.max(limit, ...points.map(({ value }) => value)) * headroom || 1
  const x = (atMs: number): number => round((chartWidth * (atMs - fromMs)) / (toMs - fromMs))
  const y = (value: number): number => round(chartHeight * (1 - value / top))
  const lines = Map.groupBy(points, ({ line }) => line)
  const paths = [...lines.values()].map((line) => {
    const steps = line.map(({ atMs, value }) => `${x(atMs)} ${y(value)}`)
    // A path without a length is a dot.
    return `M${steps.join('L')}${steps.length === 1 ? 'h0' : ''}`
  })
  return { paths, fromMs, toMs, ...(limit > 0 && { limitY: y(limit), markY: y(warnAt * limit) }) }
}

const round = (value: number): number => Math.round(10 * value) / 10

/** Returns the points of one of the two uses. */
export const pointsOf = (samples: readonly Sample[], name: 'cpuMillicores' | 'memoryBytes'): readonly Point[] =>
  samples.map(({ atMs, line, [name]: value }) => ({ atMs, line, value }))
