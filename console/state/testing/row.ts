import type { Row } from '../row.ts'

/** Returns the row of a running world without a problem, with the given members. */
export const aRow = (members: Partial<Row> = {}): Row => ({
  id: 'world-1',
  projectId: 'project-1',
  version: '1',
  name: 'Lobby',
  phase: 'Active',
  message: '',
  reason: '',
  reasonSinceMs: 0,
  profile: 'Capacity10',
  group: 'production',
  region: 'Europe',
  mapName: 'island',
  build: 'stable:1.2',
  address: '10.0.0.1:7777',
  capacity: 10,
  players: 3,
  queued: 0,
  restarts: 0,
  createdAtMs: 1_000_000,
  startedAtMs: 2_000_000,
  readySinceMs: 2_030_000,
  labels: {},
  ...members,
})
