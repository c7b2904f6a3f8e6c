import { actions } from '#console/state/actions.ts'
import type { BulkKind } from '#console/state/bulk/plan.ts'
import { type Counts, countOutcomes } from '#console/state/bulk/progress.ts'
import { describeDone } from '#console/state/bulkReport.ts'
import { formatCount } from '#console/state/format.ts'
import type { Bulk } from '../../live/bulk.ts'

/** Returns the name of an action that runs, such as `Starting 212 worlds`. */
export const describeRun = ({ plan: { kind }, progress: { ids } }: Bulk): string =>
  `${actions[kind].progress} ${formatCount(ids.length, 'world')}`

const otherWords = { failed: 'failed', unknown: 'not known', skipped: 'not sent', waiting: 'left' } as const

const describeOthers = (counts: Counts): string[] =>
  (['failed', 'unknown', 'skipped', 'waiting'] as const)
    .filter((outcome) => counts[outcome] > 0)
    .map((outcome) => `${formatCount(counts[outcome])} ${otherWords[outcome]}`)

/** Returns the numbers of worlds by outcome, such as `140 starts accepted, 3 failed, 69 left`. */
export const describeCounts = ({ plan: { kind }, progress }: Bulk): string => {
  const counts = countOutcomes(progress)
  return [describeDone(kind, counts.done), ...describeOthers(counts)].join(', ')
}

/** Returns the result of an action, such as `209 of 212 starts accepted: 3 failed`, or `2 worlds stopped`. */
export const describeEnd = ({ plan: { kind }, progress }: Bulk): string => {
  const counts = countOutcomes(progress)
  const others = describeOthers(counts)
  return others.length === 0
    ? describeDone(kind, counts.done)
    : `${describeDone(kind, counts.done, progress.ids.length)}: ${others.join(', ')}`
}

const those = (count: number): string => (count === 1 ? 'the one' : `the ${formatCount(count)}`)

/** Returns the names of the buttons that repeat an action for some worlds: those that failed, without a known result, or not sent. */
export const describeRepeat = (
  outcome: 'failed' | 'unknown' | 'skipped',
  { kind, count }: { readonly kind: BulkKind; readonly count: number },
): string => {
  if (outcome === 'failed') return `Repeat ${those(count)} that failed`
  if (outcome === 'skipped') return `Send ${those(count)} that ${count === 1 ? 'was' : 'were'} not sent`
  return kind === 'restart'
    ? `Restart ${those(count)} without a new run`
    : `Send ${those(count)} without a known result again`
}

/** Reports whether an action has ended with success for each world. */
export const isAllDone = ({ state, progress }: Bulk): boolean =>
  state === 'ended' && countOutcomes(progress).done === progress.ids.length
