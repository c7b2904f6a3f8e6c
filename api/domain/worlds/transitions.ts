import { runSettings } from './settings.ts'
import type { WorldRow } from './table.ts'

/** What a start changes in a row: a new run, from any state. The cluster follows by itself. */
export const startColumns = (
  row: WorldRow,
  { runId, now, build }: { runId: string; now: Date; build: WorldRow['resolvedBuild'] },
) => ({
  state: 'Running' as const,
  runId,
  startedAt: now,
  resolvedBuild: build,
  startedWith: runSettings(row),
  runningCapacity: row.estimatedCapacity,
  phase: 'Starting' as const,
  statusMessage: '',
  revision: row.revision + 1,
  runRevision: row.revision + 1,
  statusVersion: row.statusVersion + 1,
  updatedAt: now,
})

/** What a stop changes in a row: Stopped at once; the server drains afterwards. */
export const stopColumns = (row: WorldRow, { now }: { now: Date }) => ({
  state: 'Stopped' as const,
  phase: 'Stopped' as const,
  statusMessage: '',
  revision: row.revision + 1,
  runRevision: row.revision + 1,
  statusVersion: row.statusVersion + 1,
  updatedAt: now,
})
