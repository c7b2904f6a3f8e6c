import { requestedConditions } from '#api/domain/events/conditions.ts'
import { toRunSettings } from './settings.ts'
import { captureRun } from './start.ts'
import type { WorldRow } from './table.ts'

/** The reason for which a start waits, as a sentence, and the time until it can be tried again, if that is known. */
export type Wait = { readonly message: string; readonly delayMs?: number }

/** The columns of a world that waits for nothing. */
const noWait = { waitsSince: null, waitsFor: null, waitsUntil: null } as const

/** Returns the columns that a start sets: a new run, whatever the previous state. */
export const toStartColumns = (
  row: WorldRow,
  { run, now, build }: { run: { runId: string; startedAt: Date }; now: Date; build: WorldRow['resolvedBuild'] },
) => ({
  state: 'Running' as const,
  runId: run.runId,
  startedAt: run.startedAt,
  resolvedBuild: build,
  startedWith: toRunSettings(row),
  granted: captureRun({ ...row, resolvedBuild: build }, run),
  ...noWait,
  ...toRequestedColumns(row, { phase: 'Starting', message: 'The run was requested.', now }),
})

/** Returns the columns of a start with kubectl that waits. The phase stays, because no run begins yet. */
export const toWaitingColumns = (row: WorldRow, { wait, now }: { wait: Wait; now: Date }) => ({
  state: 'Running' as const,
  runId: null,
  startedAt: null,
  waitsSince: row.waitsSince ?? now,
  waitsFor: wait.message,
  waitsUntil: wait.delayMs === undefined ? null : new Date(now.getTime() + wait.delayMs),
  revision: row.revision + 1,
  runRevision: row.revision + 1,
  updatedAt: now,
})

/** Returns the columns that a stop sets. The phase is Stopped at once; the server drains afterwards. */
export const toStopColumns = (row: WorldRow, { now }: { now: Date }) => ({
  state: 'Stopped' as const,
  ...noWait,
  ...toRequestedColumns(row, { phase: 'Stopped', message: 'The world was stopped.', now }),
})

/** Returns the columns of the observed state until the operator reports, with the next revision. */
const toRequestedColumns = <Phase extends 'Starting' | 'Stopped'>(
  row: WorldRow,
  { phase, message, now }: { phase: Phase; message: string; now: Date },
) => ({
  phase,
  statusMessage: '',
  address: null,
  conditions: requestedConditions(row.conditions, { reason: phase, message }, now),
  revision: row.revision + 1,
  runRevision: row.revision + 1,
  updatedAt: now,
})
