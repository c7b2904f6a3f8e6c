import { isDeepStrictEqual } from 'node:util'
import type { WorldRow } from '#api/domain/worlds/table.ts'
import type { WorldState } from '#shared/enumerations.ts'
import { pausedAnnotation } from '#shared/resources/group.ts'
import { isDrained, type World, type WorldDeploymentStatus } from '#shared/resources/world.ts'
import { adoptEdit } from './adopt.ts'

/** The columns of the observed state of a world. */
export type ObservedColumns = Pick<WorldRow, 'phase' | 'statusMessage' | 'queueQueued' | 'queueActive'>

/** The changes to a row that follow from a live World. All are applied in one transaction. */
export type Verdict = {
  /** The resource has a higher revision than the row, as after a restore of the database. Nothing is written. */
  readonly frozen?: true
  /** The resource was deleted with kubectl, which deletes the world. */
  readonly markDeleting?: true
  /** The deletion is recorded and no server is left, so the API's finalizer can be removed. */
  readonly release?: true
  /** The new spec.state, if it was changed with kubectl. */
  readonly adoptState?: WorldState
  /** The resource has a lower revision than the row, and no push is pending. */
  readonly pushAgain?: true
  readonly observed?: ObservedColumns
  /** The deployments in the status, newest first. Older open deployments of the world have ended. */
  readonly deployments: readonly WorldDeploymentStatus[]
}

/** Compares a live World with its row and decides the changes to the row. `dirty` is true if a push is pending. */
export const observeWorld = (row: WorldRow, live: World, dirty: boolean): Verdict => {
  const liveRevision = live.spec.revision ?? 0
  if (liveRevision > row.revision) return { frozen: true, deployments: [] }
  const seen = observedState(row, live)
  if (live.metadata.deletionTimestamp !== undefined) {
    const marked = row.deletingAt !== null
    return { ...seen, ...(marked ? {} : { markDeleting: true }), ...(isDrained(live) ? { release: true } : {}) }
  }
  if (row.deletingAt !== null) return seen
  const adoptState = adoptEdit(
    { revision: liveRevision, value: live.spec.state },
    { revision: row.revision, value: row.state },
    row.applied === null ? undefined : { revision: row.applied.revision ?? 0, value: row.applied.state },
  )
  if (adoptState !== undefined) return { ...seen, adoptState }
  return liveRevision < row.revision && !dirty ? { ...seen, pushAgain: true } : seen
}

/** Returns the message of a paused resource. Its status may be outdated, but REST shows that it is paused. */
const pausedMessage = (row: WorldRow, { metadata, status }: World): Pick<Verdict, 'observed'> => {
  const statusMessage = status?.message ?? ''
  if (metadata.annotations?.[pausedAnnotation] !== 'true' || row.statusMessage === statusMessage) return {}
  const { phase, queueQueued, queueActive } = row
  return { observed: { phase, statusMessage, queueQueued, queueActive } }
}

/** Returns the observed state. A status from before the last start or stop is ignored. */
const observedState = (row: WorldRow, live: World): Pick<Verdict, 'observed' | 'deployments'> => {
  const status = live.status
  if (status?.phase === undefined || (status.observedRevision ?? 0) < row.runRevision) {
    return { deployments: [], ...pausedMessage(row, live) }
  }
  const columns: ObservedColumns = {
    // The operator reports Inactive for a world that never ran. The row may already be Stopped.
    phase: status.phase === 'Inactive' ? row.phase : status.phase,
    statusMessage: status.message ?? '',
    queueQueued: status.queue?.queued ?? 0,
    queueActive: status.queue?.active ?? 0,
  }
  const present: ObservedColumns = {
    phase: row.phase,
    statusMessage: row.statusMessage,
    queueQueued: row.queueQueued,
    queueActive: row.queueActive,
  }
  const deployments = [status.deployment, status.previousDeployment].filter((each) => each !== undefined)
  return { deployments, ...(isDeepStrictEqual(columns, present) ? {} : { observed: columns }) }
}
