import { formatDuration } from '../format.ts'
import { waits } from '../schedule.ts'
import { describeAwake } from '../server.ts'
import { type Field, scheduleFields } from './fields.ts'
import { parseText } from './forms.ts'
import { hasRun } from './run.ts'
import type { Version } from './version.ts'

/** When the edit of a setting acts. `isWarning` if it ends the present run, deletes the world or drops a restart at once. */
export type Acts = { readonly text: string; readonly isWarning: boolean }

/** Returns when a new text of a setting acts on a world, and what it does to the present run. */
export const actsOf = (field: Field, version: Version, text: string, nowMs: number): Acts => {
  if (field.pendingWord !== undefined) return { text: 'At the next start', isWarning: false }
  if (field.id === 'runtime.durationMinutes') return actsOfDuration(field, version, text, nowMs)
  if (field.id === 'runtime.idleStopMinutes') return actsOfSleep(field, version, text, nowMs)
  if (scheduleFields.includes(field) && waits(version.world.status.nextAction, nowMs)) {
    return { text: 'At once: the restart that waits for an empty world is not done', isWarning: true }
  }
  const isClosed = field.id === 'admission.policy' && text === 'Closed' && hasRun(version.world)
  return { text: isClosed ? 'At once: the present run admits no more users' : 'At once', isWarning: false }
}

/** The minutes that a text means, or undefined for none and for a fault. */
const minutesIn = ({ kind }: Field, text: string): number | undefined => {
  const parsed = parseText(kind, text)
  return 'value' in parsed && typeof parsed.value === 'number' ? parsed.value : undefined
}

const actsOfSleep = (field: Field, { world }: Version, text: string, nowMs: number): Acts => {
  const minutes = minutesIn(field, text)
  if (minutes === undefined || !hasRun(world)) return { text: 'At once', isWarning: false }
  const { since, keptAwakeBy } = world.status.idle ?? {}
  if (since === undefined) {
    if (keptAwakeBy !== undefined && !['Players', 'WaitingPlayers'].includes(keptAwakeBy)) {
      return { text: `At once: the present run is ${describeAwake(keptAwakeBy)}`, isWarning: false }
    }
    const after = formatDuration(minutes * 60_000)
    return { text: `At once: the present run ends after ${after} without players`, isWarning: false }
  }
  const emptyMs = nowMs - Date.parse(since)
  const leftMs = minutes * 60_000 - emptyMs
  return leftMs <= 0
    ? { text: `Nobody was in the world for ${formatDuration(emptyMs)}: the present run ends at once`, isWarning: true }
    : { text: `At once: the present run ends in ${formatDuration(leftMs)} if no player joins before`, isWarning: false }
}

const actsOfDuration = (field: Field, { world }: Version, text: string, nowMs: number): Acts => {
  const { startedAt } = world.status
  const minutes = minutesIn(field, text)
  if (startedAt === undefined || minutes === undefined) return { text: 'At once', isWarning: false }
  const leftMs = Date.parse(startedAt) + minutes * 60_000 - nowMs
  const began = `run began ${formatDuration(nowMs - Date.parse(startedAt))} ago`
  const isDeleted = world.transient ? ', and the world is deleted' : ''
  if (!hasRun(world)) {
    return leftMs <= 0 && world.transient
      ? { text: `The last ${began}: the world is deleted at once`, isWarning: true }
      : { text: 'At once', isWarning: false }
  }
  return leftMs <= 0
    ? { text: `The present ${began}: it ends at once${isDeleted}`, isWarning: true }
    : { text: `At once: the present run ends in ${formatDuration(leftMs)}${isDeleted}`, isWarning: false }
}
