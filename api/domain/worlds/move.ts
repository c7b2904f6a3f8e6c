import { isAsleep } from '#shared/domain/idle.ts'
import { isRunning } from '#shared/domain/phases.ts'
import { toRunSettings } from './settings.ts'
import type { WorldRow } from './table.ts'

type Movable = Pick<WorldRow, 'cluster' | 'targetCluster' | 'compute'>

/**
 * Returns the column that moves a world to the cluster of its place, or none if the world stays. Call it when the place of a
 * world without a run changes, or at a start after such a change. A move that has begun may have deleted the resource
 * already, so it is never cancelled; it may lead back to the same cluster.
 */
export const toMoveColumns = (
  row: Movable,
  clusterOf: (place: WorldRow['compute']) => string | undefined,
): { targetCluster?: string } => {
  const target = clusterOf(row.compute)
  const isAtHome = target === row.cluster && row.targetCluster === null
  return target === undefined || isAtHome ? {} : { targetCluster: target }
}

/**
 * Reports whether a world moves as soon as its place changes. Otherwise it moves at its next start: the run of a world that sleeps would
 * begin again in another cluster.
 */
export const movesAtOnce = (row: Pick<WorldRow, 'state' | 'phase' | 'idle'>): boolean =>
  !isRunning(row) && !isAsleep(row)

/** Reports whether the place of a world has changed since its last start. */
export const hasNewPlace = (row: WorldRow): boolean =>
  row.startedWith !== null && row.startedWith.place !== undefined && row.startedWith.place !== toRunSettings(row).place
