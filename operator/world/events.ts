import { findCondition, findNewlyTrue, isTrue, normalEvent, warningEvent } from '#operator/lifecycle/events.ts'
import { joinSentences } from '#operator/lifecycle/message.ts'
import { disruptionReasons } from '#operator/pods/diagnosis.ts'
import { hasEnded } from '#shared/domain/phases.ts'
import type { EventInput } from '#shared/kube/events.ts'
import type { World, WorldStatus } from '#shared/resources/world.ts'
import { runEndMessages } from '#shared/why/endings.ts'
import { waitingForApi } from './notGranted.ts'
import { hasEndedInError } from './run.ts'
import type { Plan } from './step.ts'

type Transition = {
  readonly world: World
  readonly before: WorldStatus
  readonly after: WorldStatus
  readonly steps: Plan['steps']
  readonly detail: string | undefined
}

/**
 * Returns the events of a World whose status changes to `after`. Nothing depends on them: a crash may lose or repeat some.
 */
export const worldEvents = (
  world: World,
  after: WorldStatus,
  { steps, detail }: Omit<Plan, 'status'>,
): EventInput[] => {
  const transition = { world, before: world.status ?? {}, after, steps, detail }
  return [waitEvent, startEvent, lossEvent, readyEvent, endEvent, degradedEvent, deletionEvent].flatMap(
    (eventOf) => eventOf(transition) ?? [],
  )
}

const waitEvent = ({ before, after }: Transition): EventInput | undefined => {
  const now = findNewlyTrue(before, after, 'Progressing')
  return now?.reason === waitingForApi ? normalEvent(now.reason, 'StartRun', now.message) : undefined
}

const startEvent = ({ before, after }: Transition): EventInput | undefined => {
  const { run } = after
  // The event of a server that is Ready by now says that the run started.
  if (run === undefined || run.id === before.run?.id || isTrue(after, 'Ready')) return undefined
  return normalEvent('Started', 'StartRun', startSentence(run))
}

const startSentence = ({ id, profile, image }: NonNullable<WorldStatus['run']>): string =>
  `Run ${id} started with profile ${profile} and image ${image}.`

const lossEvent = ({ before, after, detail }: Transition): EventInput | undefined => {
  if (!hasNewLoss(before, after) || hasNewEnd(before, after)) return undefined
  const message = findCondition(after, 'Degraded')?.message ?? after.message
  const reason = after.run?.failure?.reason ?? ''
  return disruptionReasons.includes(reason)
    ? warningEvent(reason, 'ReplaceServer', message, detail)
    : warningEvent('Restarted', 'RestartServer', message, detail)
}

const readyEvent = ({ before, after }: Transition): EventInput | undefined => {
  const isNewRun = before.run?.id !== after.run?.id
  if (!isTrue(after, 'Ready') || (isTrue(before, 'Ready') && !isNewRun)) return undefined
  const where = after.address === undefined ? '' : ` at ${after.address.host}:${after.address.port}`
  const started = isNewRun && after.run !== undefined ? startSentence(after.run) : undefined
  return normalEvent('Ready', 'StartServer', joinSentences(started, `The server is ready${where}.`))
}

const endEvent = ({ before, after, detail }: Transition): EventInput | undefined => {
  const { run } = after
  if (run?.endReason === undefined || !hasNewEnd(before, after)) return undefined
  const message = run.endMessage || runEndMessages[run.endReason]
  return hasEndedInError(run)
    ? warningEvent(run.endReason, 'EndRun', message, detail)
    : normalEvent(run.endReason, 'EndRun', message)
}

const degradedEvent = ({ before, after, detail }: Transition): EventInput | undefined => {
  const now = findNewlyTrue(before, after, 'Degraded')
  // Losses and ends in error have events of their own.
  if (now === undefined || now.reason === after.run?.failure?.reason || hasNewEnd(before, after)) return undefined
  return warningEvent(now.reason, 'RunServer', now.message, detail)
}

const deletionEvent = ({ world, before, after, steps }: Transition): EventInput | undefined => {
  if (steps.some(({ verb }) => verb === 'deleteWorld')) {
    return normalEvent(
      'Deleted',
      'DeleteWorld',
      'The world is deleted: its duration is over and its server has stopped.',
    )
  }
  if (world.metadata.deletionTimestamp === undefined || isDraining(after)) return undefined
  const wasReported = findCondition(before, 'Ready')?.reason === 'Deleting' && !isDraining(before)
  return wasReported ? undefined : normalEvent('Deleted', 'DeleteWorld', 'The world is deleted. No server is left.')
}

const hasNewLoss = (before: WorldStatus, { run }: WorldStatus): boolean =>
  run !== undefined && run.id === before.run?.id && run.countedPodUid !== before.run.countedPodUid

const hasNewEnd = (before: WorldStatus, { run }: WorldStatus): boolean =>
  run?.endReason !== undefined && (before.run?.id !== run.id || before.run.endReason === undefined)

const isDraining = ({ deployment }: WorldStatus): boolean => deployment !== undefined && !hasEnded(deployment)
