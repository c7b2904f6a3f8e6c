import type { BotRow } from '#api/domain/bots/table.ts'
import type { EventDraft } from '#api/domain/events/table.ts'
import { isNewlyReady, normalEvent, troubleEvents, warningEvent } from '#api/domain/events/trouble.ts'
import type { BotDeploymentStatus } from '#shared/resources/botDeployment.ts'

/** The part of the observed state that events are made of. */
type Observed = Pick<BotRow, 'phase' | 'statusMessage' | 'conditions'>

/** Returns the events of a bot deployment whose observed state changes. */
export const observedEvents = (
  before: Observed,
  after: Observed,
  { ready = 0, run }: Pick<BotDeploymentStatus, 'ready' | 'run'>,
): EventDraft[] => {
  const events = [...phaseEvents(before, after, run), ...readyEvents(before, after, ready)]
  return [...events, ...troubleEvents(before.conditions, after.conditions, events)]
}

const phaseEvents = (
  before: Observed,
  { phase, statusMessage, conditions }: Observed,
  run: BotDeploymentStatus['run'],
): EventDraft[] => {
  if (phase === before.phase) return []
  const why = conditions.find(({ type }) => type === 'Ready')?.reason
  switch (phase) {
    case 'Starting':
      return before.phase === 'Running' ? [] : [normalEvent('Started', 'The bots are starting.')]
    case 'Stopped':
      return [normalEvent(run?.endReason ?? why ?? 'Stopped', statusMessage || 'The bots were stopped.')]
    case 'Error':
      return [warningEvent(why ?? 'Error', statusMessage || 'The bots failed.')]
    case 'Pending':
      return [normalEvent(why ?? 'Waiting', statusMessage || 'The bots wait for their world.')]
    case 'Running':
    case 'Stopping':
      return []
  }
}

const readyEvents = (before: Observed, { conditions }: Observed, ready: number): EventDraft[] =>
  isNewlyReady(before.conditions, conditions) && ready > 0
    ? [normalEvent('Ready', ready === 1 ? '1 bot is ready.' : `${ready} bots are ready.`)]
    : []
