import { isDeepStrictEqual } from 'node:util'
import type { WorldRow } from '#api/domain/worlds/table.ts'
import type { WorldState } from '#shared/enumerations.ts'
import { pausedAnnotation } from '#shared/resources/group.ts'
import { isDrained, type World, type WorldDeploymentStatus } from '#shared/resources/world.ts'
import { adoptEdit } from './adopt.ts'

/** The columns of a world that are observed rather than wanted. */
export type ObservedColumns = Pick<WorldRow, 'phase' | 'statusMessage' | 'queueQueued' | 'queueActive'>

/** What a look at a live World asks of its row. Everything in it is done in one transaction. */
export type Verdict = {
  /** The resource is ahead of the row: the database was restored. Nothing may be written. */
  readonly frozen?: true
  /** Somebody deleted the resource: that is a deletion of the world. */
  readonly markDeleting?: true
  /** The deletion is recorded and no server is left: the API's finalizer may go. */
  readonly release?: true
  /** Somebody changed spec.state: a start or a stop by another door. */
  readonly adoptState?: WorldState
  /** The resource is behind a row of which nothing waits to be pushed. */
  readonly pushAgain?: true
  readonly observed?: ObservedColumns
  /** The deployments that the status speaks of, newest first; older open ones of the world are over. */
  readonly deployments: readonly WorldDeploymentStatus[]
}

/**
 * Compares a live World with its row. `dirty` says whether a push of the row is pending. Decides only; a row of an
 * unknown world is none of its business.
 */
export const observeWorld = (row: WorldRow, live: World, dirty: boolean): Verdict => {
  const liveRevision = live.spec.revision ?? 0
  if (liveRevision > row.revision) return { frozen: true, deployments: [] }
  const seen = observed(row, live)
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

/** A paused resource is not acted on, so its status stays behind; that it is paused is told all the same. */
const paused = (row: WorldRow, { metadata, status }: World): Pick<Verdict, 'observed'> => {
  const statusMessage = status?.message ?? ''
  if (metadata.annotations?.[pausedAnnotation] !== 'true' || row.statusMessage === statusMessage) return {}
  const { phase, queueQueued, queueActive } = row
  return { observed: { phase, statusMessage, queueQueued, queueActive } }
}

/** A status that was written before the operator saw the last start or stop says nothing about the present. */
const observed = (row: WorldRow, live: World): Pick<Verdict, 'observed' | 'deployments'> => {
  const status = live.status
  if (status?.phase === undefined || (status.observedRevision ?? 0) < row.runRevision) {
    return { deployments: [], ...paused(row, live) }
  }
  const columns: ObservedColumns = {
    // Inactive is a world that never ran; the row knows better whether it was stopped since.
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
