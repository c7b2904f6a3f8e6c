import { isDeepStrictEqual } from 'node:util'
import type { BotRow } from '#api/domain/bots/table.ts'
import { readConditions } from '#api/domain/events/conditions.ts'
import { desiredBotSpec } from '#api/sync/rows/desired.ts'
import { lostMessage } from '#api/sync/rows/waiting.ts'
import { type BotDeployment, type BotDeploymentSpec, isBotsDrained } from '#shared/resources/botDeployment.ts'
import { type BotFacts, mergeBots } from './adoptBots.ts'
import { findObstacle, findSides, type Seen } from './base.ts'
import { hasEdits, type Sides } from './merge.ts'
import type { VerdictOf } from './verdict.ts'

/** The columns of the observed state of a bot deployment. */
type ObservedColumns = Pick<BotRow, 'phase' | 'statusMessage' | 'startedAt' | 'conditions'>

/** The changes to a row that follow from a live BotDeployment. All are applied in one transaction. */
export type BotVerdict = VerdictOf<BotDeploymentSpec, ObservedColumns>

/** The grant of the row's side names the live resource, so that a resource with another uid gets its own grant. */
const sidesOf = (row: BotRow, seen: Seen<BotDeployment>): Sides<BotDeploymentSpec> | undefined => {
  const { uid = row.resourceUid } = seen.resource.metadata
  return findSides(desiredBotSpec({ ...row, resourceUid: uid }), row.applied, seen)
}

/** Reports whether a live BotDeployment has edits to merge, so that the decision needs the facts for their rules. */
export const needsBotFacts = (row: BotRow, seen: Seen<BotDeployment>): boolean => {
  const sides = sidesOf(row, seen)
  return sides !== undefined && hasEdits(sides)
}

/**
 * Compares a live BotDeployment with its row and decides the changes to the row. `dirty` is true if a push is pending.
 * `facts` are used only if there are edits. `lost` is the reason if the resource is deleted with its namespace or definition;
 * the row is not deleted then. The deletion of a resource is also handled while its row is frozen, since it would block that of
 * its namespace or definition.
 */
export const observeBots = (
  row: BotRow,
  seen: Seen<BotDeployment>,
  dirty: boolean,
  { facts, lost }: { facts: BotFacts; lost?: string | undefined },
): BotVerdict => {
  const { resource: live, owns } = seen
  const liveRevision = live.spec.revision ?? 0
  const isAhead = liveRevision > row.revision
  const sides = sidesOf(row, seen)
  const obstacle = findObstacle({ live: live.spec, row, base: sides?.base }, owns)
  if (sides === undefined || obstacle === 'needsOwnership') return { needsOwnership: true, reasons: [] }
  const isDeleting = live.metadata.deletionTimestamp !== undefined
  if (obstacle === 'frozen' && !isDeleting) return { frozen: true, reasons: [] }
  const state: BotVerdict = { reasons: [], ...(obstacle === 'frozen' ? {} : observedState(row, live)) }
  if (isDeleting) return observeDeletion(row, live, { state, lost })
  if (row.deletingAt !== null) return state
  const { spec, adopted, putBack, reasons } = mergeBots(sides, facts)
  const isAcknowledged = adopted.length + putBack.length > 0 || isAhead
  return {
    ...state,
    ...(adopted.length > 0 ? { edit: spec, adopted } : {}),
    ...(isAhead ? { foreignRevision: liveRevision } : {}),
    ...(isAcknowledged ? { acknowledged: true } : {}),
    reasons,
    ...(!isDeepStrictEqual(live.spec, spec) && !dirty ? { pushAgain: true } : {}),
  }
}

const observeDeletion = (
  row: BotRow,
  live: BotDeployment,
  { state, lost }: { state: BotVerdict; lost: string | undefined },
): BotVerdict => {
  const release = isBotsDrained(live) ? ({ release: true } as const) : {}
  if (row.deletingAt !== null || row.targetCluster !== null) return { ...state, ...release }
  if (lost === undefined) return { ...state, ...release, markDeleting: true }
  const { phase, startedAt, conditions } = row
  const observed = { phase, startedAt, conditions, ...state.observed, statusMessage: lostMessage(lost) }
  return { ...state, ...release, observed }
}

const observedState = (row: BotRow, { status }: BotDeployment): Pick<BotVerdict, 'observed'> => {
  if (status?.phase === undefined) return {}
  const columns: ObservedColumns = {
    phase: status.phase,
    statusMessage: status.message ?? '',
    startedAt: status.startedAt === undefined ? null : new Date(status.startedAt),
    conditions: readConditions(status.conditions),
  }
  const { phase, statusMessage, startedAt, conditions } = row
  return isDeepStrictEqual(columns, { phase, statusMessage, startedAt, conditions }) ? {} : { observed: columns }
}
