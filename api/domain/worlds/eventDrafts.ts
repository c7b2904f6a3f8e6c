import type { EventDraft } from '#api/domain/events/table.ts'
import { isNewlyReady, normalEvent, troubleEvents, warningEvent } from '#api/domain/events/trouble.ts'
import type { WorldRow } from '#api/domain/worlds/table.ts'
import { lastRunIn } from '#shared/domain/phases.ts'
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

/** Returns the event of a start. `replaced` is the run that was active, and `wokenBy` names the caller for whom the start wakes the world. */
export const startEvent = (runId: string, replaced?: string | null, wokenBy?: string): EventDraft => {
  const run = `Run ${runId}`
  if (wokenBy !== undefined) return normalEvent('Started', `${run} was requested. ${wokenBy} woke the world.`)
  return replaced
    ? normalEvent('Restarted', `${run} was requested. It replaces run ${replaced}.`)
    : normalEvent('Started', `${run} was requested.`)
}

/** Returns the event of a start that waits. */
export const waitEvent = (waitsFor: string): EventDraft => normalEvent('StartWaits', waitsFor)

/** Returns the event of a wake that was refused for this reason. */
export const wakeRefusedEvent = (wokenBy: string, reason: string): EventDraft =>
  warningEvent('WakeRefused', `${wokenBy} did not wake the world. ${reason}`)

/** Returns the event of a stop. */
export const stopEvent = (): EventDraft => normalEvent('Stopped', runEndMessages.Stopped)

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
