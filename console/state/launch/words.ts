import { formatCount, formatDuration } from '#console/state/format.ts'
import type { Launch } from './launch.ts'
import { type Bin, longestStartMs } from './times.ts'

/** Returns a duration rounded up to whole seconds, such as `0 s` or `4 min 12 s`. */
export const formatSeconds = (ms: number): string => (ms <= 0 ? '0 s' : formatDuration(Math.ceil(ms / 1_000) * 1_000))

/** Returns the times of a bin, such as `10 s to 15 s` or `longer than 40 s`. */
export const describeBin = ({ fromMs, toMs }: Pick<Bin, 'fromMs' | 'toMs'>): string =>
  toMs === Number.POSITIVE_INFINITY
    ? `longer than ${formatSeconds(fromMs)}`
    : `${formatSeconds(fromMs)} to ${formatSeconds(toMs)}`

/** Says which runs the figures of the start times are of, and counts those that they leave out. */
export const describeTimes = ({ counts, times }: Launch): string => {
  const stillStart = counts.pending + counts.starting
  const others = [
    stillStart > 0 && `${formatCount(stillStart)} still ${stillStart === 1 ? 'starts' : 'start'}`,
    times.notReady > 0 && `${formatCount(times.notReady)} active ${times.notReady === 1 ? 'is' : 'are'} not ready now`,
    times.again > 0 &&
      `${formatCount(times.again)} became ready again later, more than ${formatDuration(longestStartMs)} after ${times.again === 1 ? 'its' : 'their'} request`,
    counts.error > 0 && `${formatCount(counts.error)} failed`,
    counts.ended > 0 && `${formatCount(counts.ended)} ended`,
  ].filter((each) => each !== false)
  const left = others.length === 0 ? '' : ` Not in the figures: ${others.join(', ')}.`
  return `Of ${formatCount(times.ready, 'run')} that ${times.ready === 1 ? 'is' : 'are'} ready.${left}`
}

/** A simulated node gives each pod this message. It explains no start. */
const simulated = /\s*The node is simulated, so no container runs\.\s*/

/** Returns a message of a world without the note that its node is simulated. */
export const withoutNote = (message: string): string => message.replace(simulated, ' ').trim()

/** Says that none of the selected worlds has a run that counts. `when` is a text such as `in the last hour`. */
export const describeNone = (selected: number, when: string): string => {
  if (selected === 0) return 'No world matches the filter.'
  const run = `run that was requested ${when}.`
  if (selected === 1) return `The 1 world that matches the filter has no ${run}`
  return `None of the ${formatCount(selected, 'world')} that match the filter has a ${run}`
}
