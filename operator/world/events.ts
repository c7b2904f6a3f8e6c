import { conditionOf, holds, newlyHolds, normal, sentence, warning } from '#operator/telling.ts'
import type { Happening } from '#shared/kube/events.ts'
import type { RunEndReason, World, WorldStatus } from '#shared/resources/world.ts'
import { endedInError } from './run.ts'
import type { Step } from './step.ts'

/**
 * What a user is told when a World goes from the status that it has to the one that was just written, and what was done
 * for it. Nothing depends on it: a status that is written twice, or never, only tells too much or too little.
 */
export const eventsOf = (world: World, after: WorldStatus, steps: readonly Step[]): Happening[] => {
  const before = world.status ?? {}
  return tellers.flatMap((tell) => tell({ world, before, after, steps }) ?? [])
}

type Told = { world: World; before: WorldStatus; after: WorldStatus; steps: readonly Step[] }

const tellers: readonly ((told: Told) => Happening | undefined)[] = [
  ({ before, after: { run } }) =>
    run === undefined || run.id === before.run?.id
      ? undefined
      : normal('Started', 'StartRun', `The run ${run.id} begins: ${run.profile} with the image ${run.image}.`),
  ({ before, after }) => {
    if (!restarted(before, after) || ended(before, after)) return undefined
    const failure = conditionOf(after, 'Degraded')?.message ?? after.message
    return warning('Restarted', 'RestartServer', sentence(failure))
  },
  ({ before, after }) => {
    if (!holds(after, 'Ready') || (holds(before, 'Ready') && before.run?.id === after.run?.id)) return undefined
    const where = after.address === undefined ? '' : ` at ${after.address.host}:${after.address.port}`
    return normal('Ready', 'StartServer', `The server is ready${where}.`)
  },
  ({ before, after }) => {
    const { run } = after
    if (run?.endReason === undefined || !ended(before, after)) return undefined
    const note = sentence(run.endMessage) || endings[run.endReason]
    return endedInError(run) ? warning(run.endReason, 'EndRun', note) : normal(run.endReason, 'EndRun', note)
  },
  ({ before, after }) => {
    const now = newlyHolds(before, after, 'Degraded')
    // A failure that is answered by a restart, and one that ends the run, are told as that.
    if (now === undefined || now.reason === after.run?.failure?.reason || after.run?.endReason !== undefined)
      return undefined
    return warning(now.reason, 'RunServer', sentence(now.message))
  },
  ({ world, before, after, steps }) => {
    if (steps.some((step) => step.verb === 'deleteWorld')) {
      return normal('Deleted', 'DeleteWorld', 'The duration is over and the server has stopped: the world is deleted.')
    }
    if (world.metadata.deletionTimestamp === undefined || draining(after)) return undefined
    const toldBefore = conditionOf(before, 'Ready')?.reason === 'Deleting' && !draining(before)
    return toldBefore
      ? undefined
      : normal('Deleted', 'DeleteWorld', 'The world is deleted, and no server of it is left.')
  },
]

/** Whether a failure was counted since. */
const restarted = (before: WorldStatus, { run }: WorldStatus): boolean =>
  run !== undefined && run.id === before.run?.id && run.restarts > before.run.restarts

/** Whether the run ended since. */
const ended = (before: WorldStatus, { run }: WorldStatus): boolean =>
  run?.endReason !== undefined && (before.run?.id !== run.id || before.run.endReason === undefined)

const endings: Record<RunEndReason, string> = {
  Stopped: 'The world was stopped.',
  Expired: 'The duration of the run is over.',
  Completed: 'The server ended the run.',
  StartDeadline: 'The server was not ready in time.',
  RestartBudget: 'The server failed too often.',
}

/** A server is on its way out, or its node cannot be seen. */
const draining = ({ deployment }: WorldStatus): boolean =>
  deployment?.status === 'Stopping' || deployment?.status === 'Unknown'
