import { countPhases } from './groups.ts'
import type { Phase, Row } from './row.ts'

/** The number of worlds of a project in each phase. */
export type Worlds = Readonly<Record<Phase, number>>

/** Returns the worlds of each project that has any. */
export const countByProject = (rows: Iterable<Row>): ReadonlyMap<string, Worlds> => {
  const found = new Map<string, Record<Phase, number>>()
  for (const { projectId, phase } of rows) {
    const counts = found.get(projectId) ?? countPhases([])
    counts[phase] += 1
    found.set(projectId, counts)
  }
  return found
}
