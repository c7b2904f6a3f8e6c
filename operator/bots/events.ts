import { findCondition, findNewlyTrue, isTrue, normalEvent, warningEvent } from '#operator/lifecycle/events.ts'
import { countOf } from '#operator/lifecycle/message.ts'
import type { EventInput } from '#shared/kube/events.ts'
import type { BotDeployment, BotDeploymentStatus, BotRun } from '#shared/resources/botDeployment.ts'
import { endMessages } from './ended.ts'

type Transition = {
  readonly bots: BotDeployment
  readonly before: BotDeploymentStatus
  readonly after: BotDeploymentStatus
  readonly detail: string | undefined
}

/**
 * Returns the events of a BotDeployment whose status changes to `after`. Nothing depends on them: a crash may lose or
 * repeat some.
 */
export const botEvents = (bots: BotDeployment, after: BotDeploymentStatus, detail?: string): EventInput[] => {
  const transition = { bots, before: bots.status ?? {}, after, detail }
  return [startEvent, restartEvent, readyEvent, endEvent, degradedEvent, limitEvent, deletionEvent].flatMap(
    (eventOf) => eventOf(transition) ?? [],
  )
}

const startEvent = ({ bots, before, after: { run } }: Transition): EventInput | undefined =>
  run === undefined || run.id === before.run?.id
    ? undefined
    : normalEvent('Started', 'StartBots', `Starting ${countOf(bots.spec.count, 'bot')} in run ${run.id} of the world.`)

const restartEvent = ({ before, after: { run }, detail }: Transition): EventInput | undefined =>
  run !== undefined && hasNewRestarts(before.run, run)
    ? warningEvent('Restarted', 'RestartBots', `${run.failure ?? ''} The bot will be restarted.`.trim(), detail)
    : undefined

const readyEvent = ({ before, after }: Transition): EventInput | undefined => {
  const isNew = before.run?.id !== after.run?.id || !isTrue(before, 'Ready')
  return isTrue(after, 'Ready') && isNew && after.ready !== undefined && after.ready > 0
    ? normalEvent('Ready', 'StartBots', `${countOf(after.ready, 'bot')} ${after.ready === 1 ? 'is' : 'are'} ready.`)
    : undefined
}

const endEvent = ({ before, after }: Transition): EventInput | undefined => {
  const reason = endReasonOf(after)
  return reason === undefined || reason === endReasonOf(before)
    ? undefined
    : normalEvent(reason, 'StopBots', endNotes[reason])
}

const degradedEvent = ({ before, after, detail }: Transition): EventInput | undefined => {
  const now = findNewlyTrue(before, after, 'Degraded')
  // An exceeded limit has an event of its own.
  if (now === undefined || now.reason === findCondition(after, 'LimitExceeded')?.reason) return undefined
  return warningEvent(now.reason, 'RunBots', now.message, detail)
}

const limitEvent = ({ before, after }: Transition): EventInput | undefined => {
  const now = findNewlyTrue(before, after, 'LimitExceeded')
  return now && warningEvent('LimitExceeded', 'RunBots', now.message, undefined)
}

const deletionEvent = ({ bots, before, after }: Transition): EventInput | undefined => {
  const isGone = (status: BotDeploymentStatus): boolean =>
    status.phase === 'Stopped' && findCondition(status, 'Ready')?.reason === 'Deleting'
  return bots.metadata.deletionTimestamp !== undefined && isGone(after) && !isGone(before)
    ? normalEvent('Deleted', 'DeleteBots', 'The bot deployment is deleted. No bot is left.')
    : undefined
}

const hasNewRestarts = (before: BotRun | undefined, { id, restarting = [] }: BotRun): boolean => {
  const known = new Set(before?.id === id ? before.restarting?.map(({ after }) => after) : [])
  return restarting.some(({ after }) => !known.has(after))
}

const endNotes = { ...endMessages, Completed: 'All bots ended with exit code 0.' } as const

/** Returns why the bots of the run have ended without a failure, if they have. */
const endReasonOf = (status: BotDeploymentStatus): keyof typeof endNotes | undefined => {
  const { run, phase } = status
  if (run?.endReason !== undefined) return run.endReason
  return phase === 'Stopped' && findCondition(status, 'Ready')?.reason === 'Completed' ? 'Completed' : undefined
}
