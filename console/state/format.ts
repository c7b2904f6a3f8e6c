const secondMs = 1000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs
const yearMs = 365 * dayMs

/** Returns an age in one unit, such as `45s`, `12m`, `3h`, `5d` or `2y`. Each unit counts from two on. A negative age is `0s`. */
export const formatAge = (ms: number): string => {
  const [unitMs, unit] = ageUnits.find(([each]) => ms >= 2 * each) ?? [secondMs, 's']
  return `${Math.max(0, Math.floor(ms / unitMs))}${unit}`
}

const ageUnits = [
  [yearMs, 'y'],
  [dayMs, 'd'],
  [hourMs, 'h'],
  [minuteMs, 'm'],
] as const

/** Returns a duration such as `850 ms`, `4.2 s`, `4 min 12 s`, `3 h 5 min` or `2 d 3 h`. A negative duration is `0 ms`. */
export const formatDuration = (ms: number): string => {
  if (ms < secondMs) return `${Math.max(0, Math.floor(ms))} ms`
  if (ms < minuteMs) return `${(Math.floor(ms / 100) / 10).toString()} s`
  if (ms < hourMs) return inTwo(ms, [minuteMs, 'min'], [secondMs, 's'])
  if (ms < dayMs) return inTwo(ms, [hourMs, 'h'], [minuteMs, 'min'])
  return inTwo(ms, [dayMs, 'd'], [hourMs, 'h'])
}

type Unit = readonly [ms: number, name: string]

const inTwo = (ms: number, [firstMs, first]: Unit, [secondMs, second]: Unit): string => {
  const rest = Math.floor((ms % firstMs) / secondMs)
  return `${Math.floor(ms / firstMs)} ${first}${rest === 0 ? '' : ` ${rest} ${second}`}`
}

/** Returns a time, such as `14:03:12`, as a formatter writes it. Empty if the time is 0 or not a number. */
export const formatTime = (ms: number, formatter: Pick<Intl.DateTimeFormat, 'format'>): string =>
  ms === 0 || Number.isNaN(ms) ? '' : formatter.format(ms)

const counts = new Intl.NumberFormat('en')

/** Returns a count with separators, such as `3,412`, and its noun if there is one, such as `1 world` or `3,412 worlds`. */
export const formatCount = (count: number, noun = ''): string => {
  const number = counts.format(count)
  if (noun === '') return number
  return `${number} ${noun}${count === 1 ? '' : 's'}`
}
