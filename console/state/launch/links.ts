import type { Since } from './since.ts'

/** Returns the filter of the fleet that selects the worlds of a filter that have a term too. An open quote of the filter stays last. */
export const fleetFilter = (term: string, filter: string): string => (filter === '' ? term : `${term} ${filter}`)

/** Returns the filter of the fleet that selects the worlds of a filter with a term whose present run counts. */
export const runsFilter = (
  term: string,
  { value, fromMs }: Pick<Since, 'value' | 'fromMs'>,
  filter: string,
): string => {
  const started = value === 'all' ? '-started:""' : `started:${new Date(fromMs).toISOString()}`
  return fleetFilter(`${term} ${started}`, filter)
}
