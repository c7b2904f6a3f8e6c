import { requestedConditions } from '#api/domain/events/conditions.ts'
import { toRunSettings } from './settings.ts'
import type { WorldRow } from './table.ts'

/** Returns the columns that a start sets: a new run, whatever the previous state. */
export const toStartColumns = (
  row: WorldRow,
  { run, now, build }: { run: Pick<WorldRow, 'runId' | 'startedAt'>; now: Date; build: WorldRow['resolvedBuild'] },
) => ({
  state: 'Running' as const,
  runId: run.runId,
  startedAt: run.startedAt,
  resolvedBuild: build,
  startedWith: toRunSettings(row),
  ...toRequestedColumns(row, { phase: 'Starting', message: 'The run was requested.', now }),
})

/**
 * Returns the columns that a start with kubectl sets whose run the operator names. The phase stays until the operator has begun
 * the run, which it does when the limits allow it.
 */
export const toUnnamedStartColumns = (row: WorldRow, { now }: { now: Date }) => ({
  state: 'Running' as const,
  runId: null,
  startedAt: null,
  startedWith: toRunSettings(row),
  revision: row.revision + 1,
  runRevision: row.revision + 1,
  statusVersion: row.statusVersion + 1,
  updatedAt: now,
})

/** Returns the columns that a stop sets. The phase is Stopped at once; the server drains afterwards. */
export const toStopColumns = (row: WorldRow, { now }: { now: Date }) => ({
  state: 'Stopped' as const,
  ...toRequestedColumns(row, { phase: 'Stopped', message: 'The world was stopped.', now }),
})

/** Returns the columns of the observed state until the operator reports, with the next revision and status version. */
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
  statusVersion: row.statusVersion + 1,
  updatedAt: now,
})
