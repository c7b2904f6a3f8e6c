import { requestedConditions } from '#api/domain/events/conditions.ts'
import type { EventDraft } from '#api/domain/events/table.ts'
import { isAsleep } from '#shared/domain/idle.ts'
import { isRunning } from '#shared/domain/phases.ts'
import { plainSettings, runtimeSettings, serverSettings } from '#shared/domain/world.ts'
import { withDefined } from '#shared/optional.ts'
import type { CapturedRun } from '#shared/resources/world.ts'
import { runEndMessages, runRequestedMessage } from '#shared/why/endings.ts'
import { startEvent, stopEvent, waitEvent } from './eventDrafts.ts'
import { hasNewPlace, toMoveColumns } from './move.ts'
import type { Place } from './place.ts'
import { toRunSettings } from './settings.ts'
import type { Wait } from './startRules.ts'
import type { Program, WorldRow } from './table.ts'
import { showWaker } from './waker.ts'

/** A change of a world: the columns to set, with the next revision, and what is recorded beside the row. */
export type WorldChange = {
  readonly columns: Partial<WorldRow> & { readonly revision: number }
  /** The run of the columns begins, or the runs without a pod end. */
  readonly runs?: 'begin' | 'end'
  /** The caller for whom the run that begins woke the world. See `wakerOf`. */
  readonly wokenBy?: string | undefined
  readonly events?: readonly EventDraft[]
}

/** Reports whether a world is not in the desired state yet. A restart needs a run, and a stop a run, a start that waits, or a sleep. */
export const needsAction = (
  action: 'start' | 'stop' | 'restart',
  row: Pick<WorldRow, 'state' | 'phase' | 'idle' | 'waitsSince'>,
): boolean => {
  if (action === 'start') return !isRunning(row)
  return isRunning(row) || (action === 'stop' && (row.waitsSince !== null || isAsleep(row)))
}

/** The columns of a world that waits for nothing. */
const noWait = { waitsSince: null, waitsFor: null, waitsUntil: null } as const

type Start = {
  readonly runId: string
  readonly now: Date
  readonly build: WorldRow['resolvedBuild']
  readonly clusterOf: (place: Place) => string | undefined
  readonly wokenBy?: string | undefined
  /** True if the schedule of the world asks for the run. */
  readonly isScheduled?: boolean
}

/** Returns the change that starts a new run, whatever the state. A world whose place has changed moves to its cluster. */
export const toStart = (row: WorldRow, { runId, now, build, clusterOf, wokenBy, isScheduled = false }: Start) =>
  ({
    columns: {
      state: 'Running',
      runId,
      startedAt: now,
      restarts: 0,
      resolvedBuild: build,
      startedWith: toRunSettings(row),
      granted: captureRun({ ...row, resolvedBuild: build }, { runId, now }),
      ...noWait,
      ...toRequestedColumns(row, { phase: 'Starting', message: runRequestedMessage, now }),
      ...(hasNewPlace(row) ? toMoveColumns(row, clusterOf) : {}),
    },
    runs: 'begin',
    wokenBy,
    events: [
      startEvent(runId, {
        replaced: isRunning(row) ? row.runId : null,
        wokenBy: wokenBy && showWaker(wokenBy, row.organizationId),
        isScheduled,
      }),
    ],
  }) satisfies WorldChange

/** Returns the change to a start with kubectl that waits. The phase stays, because no run begins yet. */
export const toWait = (row: WorldRow, { wait, now }: { wait: Wait; now: Date }) =>
  ({
    columns: {
      state: 'Running',
      runId: null,
      startedAt: null,
      restarts: 0,
      waitsSince: row.waitsSince ?? now,
      waitsFor: wait.message,
      waitsUntil: wait.delayMs === undefined ? null : new Date(now.getTime() + wait.delayMs),
      revision: row.revision + 1,
      runRevision: row.revision + 1,
      updatedAt: now,
    },
    events: [waitEvent(wait.message)],
  }) satisfies WorldChange

/** Returns the change that stops a world. The phase is Stopped at once; the server drains afterwards. */
export const toStop = (row: WorldRow, { now, isScheduled = false }: { now: Date; isScheduled?: boolean }) =>
  ({
    columns: {
      state: 'Stopped',
      ...noWait,
      ...toRequestedColumns(row, { phase: 'Stopped', message: runEndMessages.Stopped, now }),
    },
    runs: 'end',
    events: [stopEvent({ isScheduled })],
  }) satisfies WorldChange

/** Returns the columns of the observed state until the operator reports, with the next revision. */
const toRequestedColumns = <Phase extends 'Starting' | 'Stopped'>(
  row: WorldRow,
  { phase, message, now }: { phase: Phase; message: string; now: Date },
) => ({
  phase,
  statusMessage: '',
  address: null,
  queueQueued: null,
  queueActive: null,
  queueReported: null,
  idle: null,
  conditions: requestedConditions(row.conditions, { reason: phase, message }, now),
  revision: row.revision + 1,
  runRevision: row.revision + 1,
  updatedAt: now,
})

/** The columns that decide about the program of a world. */
export type Programmed = Pick<WorldRow, 'program' | 'resolvedBuild' | 'runtime'>

/** Returns the program of the build. Without a build over REST, returns the program that kubectl set. */
export const programOf = ({ program, resolvedBuild, runtime }: Programmed): Program => {
  const args = program.args ?? []
  if (resolvedBuild !== null) {
    const { image, contentId, probes } = resolvedBuild
    return { image, contentId, probes, args }
  }
  return runtime.build === undefined ? { ...program, args } : { args }
}

/** Returns the run that a row with this build starts now. Later changes of the row act at the next start. */
const captureRun = (row: WorldRow, { runId, now }: Pick<Start, 'runId' | 'now'>): CapturedRun => {
  const { image, contentId, probes = true, args = [] } = programOf(row)
  const { compute, networking, runtime } = serverSettings.parse(row)
  return {
    id: runId,
    startedAt: now.toISOString(),
    ...withDefined({ image, contentId }),
    profile: row.networking.scaling.profile,
    ...runtimeSettings.parse(runtime),
    ...plainSettings.parse(row),
    capacity: row.admission.capacity,
    probes,
    args,
    strategy: networking.strategy,
    ports: networking.ports,
    compute,
  }
}
