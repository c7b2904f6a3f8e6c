import { conditionOf, holds, newlyHolds, normal, sentence, warning } from '#operator/telling.ts'
import type { Happening } from '#shared/kube/events.ts'
import type { BotDeployment, BotDeploymentStatus, BotRun } from '#shared/resources/botDeployment.ts'

/**
 * What a user is told when a BotDeployment goes from the status that it has to the one that was just written. Nothing
 * depends on it: a status that is written twice, or never, only tells too much or too little.
 */
export const botEventsOf = (bots: BotDeployment, after: BotDeploymentStatus): Happening[] => {
  const before = bots.status ?? {}
  return tellers.flatMap((tell) => tell({ bots, before, after }) ?? [])
}

type Told = { bots: BotDeployment; before: BotDeploymentStatus; after: BotDeploymentStatus }

const tellers: readonly ((told: Told) => Happening | undefined)[] = [
  ({ bots, before, after: { run } }) =>
    run === undefined || run.id === before.run?.id
      ? undefined
      : normal('Started', 'StartBots', `${counted(bots.spec.count)} of the world's run ${run.id} begin.`),
  ({ before, after: { run } }) =>
    run !== undefined && restartsAgain(before.run, run)
      ? warning('Restarted', 'RestartBots', `${sentence(run.failure)} It is made again.`)
      : undefined,
  ({ before, after }) => {
    const isNew = before.run?.id !== after.run?.id || !holds(before, 'Ready')
    return holds(after, 'Ready') && isNew && after.ready !== undefined && after.ready > 0
      ? normal('Ready', 'StartBots', `${counted(after.ready)} ${after.ready === 1 ? 'is' : 'are'} ready.`)
      : undefined
  },
  ({ before, after }) => {
    const reason = endOf(after)
    return reason === undefined || reason === endOf(before) ? undefined : normal(reason, 'StopBots', endings[reason])
  },
  ({ before, after }) => {
    const degraded = newlyHolds(before, after, 'Degraded')
    // A limit is told as that.
    if (degraded === undefined || degraded.reason === conditionOf(after, 'LimitExceeded')?.reason) return undefined
    return warning(degraded.reason, 'RunBots', sentence(degraded.message))
  },
  ({ before, after }) => {
    const exceeded = newlyHolds(before, after, 'LimitExceeded')
    return exceeded && warning('LimitExceeded', 'RunBots', sentence(exceeded.message))
  },
  ({ bots, before, after }) => {
    const isGone = (status: BotDeploymentStatus): boolean =>
      status.phase === 'Stopped' && conditionOf(status, 'Ready')?.reason === 'Deleting'
    return bots.metadata.deletionTimestamp !== undefined && isGone(after) && !isGone(before)
      ? normal('Deleted', 'DeleteBots', 'The deployment is deleted, and no bot of it is left.')
      : undefined
  },
]

const counted = (count: number): string => (count === 1 ? '1 bot' : `${count} bots`)

/** Whether a bot waits for a restart that it did not wait for before. */
const restartsAgain = (before: BotRun | undefined, { id, restarting = [] }: BotRun): boolean => {
  const known = new Set(before?.id === id ? before.restarting?.map(({ after }) => after) : [])
  return restarting.some(({ after }) => !known.has(after))
}

const endings = {
  Expired: 'The duration of the bots is over.',
  WorldEnded: "The world's run is over: the bots start with its next one.",
  Completed: 'All bots ended by themselves.',
} as const

/** Why the bots of the run are over, where that is no fault. */
const endOf = (status: BotDeploymentStatus): keyof typeof endings | undefined => {
  const { run, phase } = status
  if (run?.endReason !== undefined) return run.endReason
  const isCompleted = phase === 'Stopped' && conditionOf(status, 'Ready')?.reason === 'Completed'
  return isCompleted ? 'Completed' : undefined
}
