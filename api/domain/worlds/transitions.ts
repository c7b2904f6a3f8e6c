import { toRunSettings } from './settings.ts'
import type { WorldRow } from './table.ts'

/** Returns the columns that a start sets: a new run, whatever the previous state. */
export const toStartColumns = (
  row: WorldRow,
  { runId, now, build }: { runId: string; now: Date; build: WorldRow['resolvedBuild'] },
) => ({
  state: 'Running' as const,
  runId,
  startedAt: now,
  resolvedBuild: build,
  startedWith: toRunSettings(row),
  runningCapacity: row.estimatedCapacity,
  phase: 'Starting' as const,
  statusMessage: '',
  revision: row.revision + 1,
  runRevision: row.revision + 1,
  statusVersion: row.statusVersion + 1,
  updatedAt: now,
})

/** Returns the columns that a stop sets. The phase is Stopped at once; the server drains afterwards. */
export const toStopColumns = (row: WorldRow, { now }: { now: Date }) => ({
  state: 'Stopped' as const,
  phase: 'Stopped' as const,
  statusMessage: '',
  revision: row.revision + 1,
  runRevision: row.revision + 1,
  statusVersion: row.statusVersion + 1,
  updatedAt: now,
})
