import type { EventDraft } from '#api/domain/events/table.ts'
import { isNewlyReady, normalEvent, troubleEvents, warningEvent } from '#api/domain/events/trouble.ts'
import type { WorldRow } from '#api/domain/worlds/table.ts'
import { lastRunIn } from '#shared/domain/phases.ts'
import type { NextAction } from '#shared/domain/schedule.ts'
import type { WorldRun } from '#shared/resources/world.ts'
import { runEndMessages } from '#shared/why/endings.ts'

/** The part of the observed state that events are made of. */
type Observed = Pick<WorldRow, 'phase' | 'address' | 'conditions'>

/** Returns the events of a world whose observed state changes. `run` is the run that the status describes. */
export const observedEvents = (
  before: Observed,
  after: Observed,
  run: Pick<WorldRun, 'endReason' | 'endMessage' | 'dismissed'> | undefined,
): EventDraft[] => {
  const events = [...endEvents(before, after, run), ...readyEvents(before, after)]
  return [...events, ...troubleEvents(before.conditions, after.conditions, events)]
}

type Cause = {
  /** The run that was active. */
  readonly replaced?: string | null
  /** The name of the caller for whom the start wakes the world. */
  readonly wokenBy?: string | undefined
  /** True if the schedule of the world is the cause. */
  readonly isScheduled?: boolean
}

/** Returns the event of a start. */
export const startEvent = (runId: string, { replaced, wokenBy, isScheduled = false }: Cause = {}): EventDraft => {
  const sentences = [
    `Run ${runId} was requested${isScheduled ? ' by the schedule' : ''}.`,
    ...(replaced ? [`It replaces run ${replaced}.`] : []),
    ...(wokenBy === undefined ? [] : [`${wokenBy} woke the world.`]),
  ]
  return normalEvent(replaced ? 'Restarted' : 'Started', sentences.join(' '))
}

/** Returns the event of a start that waits. */
export const waitEvent = (waitsFor: string): EventDraft => normalEvent('StartWaits', waitsFor)

/** Returns the event of a wake that was refused for this reason. */
export const wakeRefusedEvent = (wokenBy: string, reason: string): EventDraft =>
  warningEvent('WakeRefused', `${wokenBy} did not wake the world. ${reason}`)

/** Returns the event of a stop. */
export const stopEvent = ({ isScheduled = false }: Pick<Cause, 'isScheduled'> = {}): EventDraft =>
  normalEvent('Stopped', isScheduled ? 'The schedule stopped the world.' : runEndMessages.Stopped)

/** Returns the event of an action of the schedule that was refused for this reason. */
export const scheduleRefusedEvent = ({ what, at }: NextAction, reason: string): EventDraft =>
  warningEvent('ScheduleRefused', `The ${what} at ${at} was refused. ${reason}`)

/** Returns the event of an action of the schedule that is too late to be done. */
export const scheduleMissedEvent = ({ what, at }: NextAction): EventDraft =>
  warningEvent('ScheduleMissed', `The ${what} at ${at} was missed by more than an hour, so it was not done.`)

const endEvents = (before: Observed, { phase }: Observed, run: Parameters<typeof observedEvents>[2]): EventDraft[] => {
  const state = lastRunIn[phase]
  if (phase === before.phase || (state !== 'ended' && state !== 'failed')) return []
  // A stop after the end, which has an event of its own.
  if (run?.dismissed) return []
  const reason = run?.endReason ?? 'Stopped'
  const message = run?.endMessage || runEndMessages[reason]
  return [state === 'failed' ? warningEvent(reason, message) : normalEvent(reason, message)]
}

const readyEvents = (before: Observed, { address, conditions }: Observed): EventDraft[] => {
  if (!isNewlyReady(before.conditions, conditions)) return []
  const [first] = address?.addresses ?? []
  const where = first === undefined ? '' : ` at ${first.url ?? `${first.host}:${first.port}`}`
  return [normalEvent('Ready', `The server is ready${where}.`)]
}
