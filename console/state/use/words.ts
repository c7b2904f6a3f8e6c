import { formatCount } from '../format.ts'
import { formatAmount } from '../usage.ts'
import { warnAt } from './chart.ts'
import type { Readings } from './readings.ts'

/** The CPU or the memory, as the page names and measures it. */
export type Measure = {
  readonly name: 'cpuMillicores' | 'memoryBytes'
  readonly limitName: 'cpuLimitMillicores' | 'memoryLimitBytes'
  readonly title: string
  readonly format: (amount: number) => string
  /** The effect on a server of its limit. */
  readonly atLimit: string
}

/** Returns an amount of CPU such as `0.42 cores` or `1 core`. */
const formatCores = (millicores: number): string => formatCount(Math.round(millicores) / 1_000, 'core')

/** The two measures, in their order on screen. */
export const measures: readonly Measure[] = [
  {
    name: 'cpuMillicores',
    limitName: 'cpuLimitMillicores',
    title: 'CPU',
    format: formatCores,
    atLimit: 'At the limit the server is slowed down.',
  },
  {
    name: 'memoryBytes',
    limitName: 'memoryLimitBytes',
    title: 'Memory',
    format: (bytes) => formatAmount(bytes, 'bytes'),
    atLimit: 'At the limit the server is ended.',
  },
]

/** Returns a use in words, such as `0.42 cores of 2 cores (21 %)`. A limit of 0 is none. */
export const describeUse = ({ format }: Measure, value: number, limit: number): string =>
  limit === 0
    ? `${format(value)}, without a limit`
    : `${format(value)} of ${format(limit)} (${percentOf(value, limit)} %)`

const percentOf = (value: number, limit: number): number => Math.floor((100 * value) / limit)

/** Returns the warning about a use above 90 % of its limit, or ''. */
export const warnOf = ({ title, atLimit }: Measure, value: number, limit: number): string =>
  limit > 0 && value > warnAt * limit ? `${title} is above 90 % of its limit. ${atLimit}` : ''

/** Returns what the last reading said, as far as the samples do not say it. Empty if it was a sample. */
export const describeOutcome = ({ outcome, samples }: Readings, hasServer: boolean): string => {
  if (!hasServer) return 'No server runs now.'
  const hasSamples = samples.length > 0
  if (outcome.kind === 'failed') return `The last reading failed. ${outcome.fault.title}. ${outcome.fault.remedy}`
  if (outcome.kind === 'noSample')
    return `No sample${hasSamples ? ' of the present server' : ''} yet. It follows within a minute or two.`
  return outcome.kind === 'absent' && hasSamples ? 'The cluster offers no metrics any more.' : ''
}
