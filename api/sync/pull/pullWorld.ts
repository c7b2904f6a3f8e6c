import { type Deletion, deleteWorldContents, toDeletion } from '#api/domain/deletion/service.ts'
import { updateColumns } from '#api/domain/worlds/columns/service.ts'
import { startEvent, stopEvent, waitEvent } from '#api/domain/worlds/events/changes.ts'
import { recordWorldEvents } from '#api/domain/worlds/events/service.ts'
import { endUnseen, recordStart } from '#api/domain/worlds/runs/service.ts'
import type { WorldRow } from '#api/domain/worlds/table.ts'
import type { Transaction } from '#api/platform/database/client.ts'
import { isDirty, markDirty } from '#api/platform/outbox/outbox.ts'
import { versionsOf } from '#api/sync/merge/base.ts'
import { needsFacts, observeWorld, sidesOf, type Verdict } from '#api/sync/merge/observe.ts'
import { refusalColumn } from '#api/sync/merge/putBack.ts'
import { hasChanges, newestVersion } from '#api/sync/rows/synced.ts'
import { isJoinable } from '#shared/domain/phases.ts'
import type { WorldPhase, WorldState } from '#shared/enumerations.ts'
import type { Result } from '#shared/kube/controller.ts'
import { readWorld } from '#shared/resources/read.ts'
import type { World } from '#shared/resources/world.ts'
import { noFacts, readFacts, recordEdit, toBase } from './edits.ts'
import { insertNewWorld } from './newWorld.ts'
import { createObservation } from './observation.ts'
import { type Outcome, pullResource } from './pull.ts'
import type { PullDeps } from './pullDeps.ts'
import { shownState } from './syncedCondition.ts'
import { lockRow, observedColumns, recordObserved } from './worldRow.ts'

/**
 * Reads one World from the cache into its row. Undefined means that it was deleted. A World without a row is ignored. `key` is
 * `namespace/name`.
 */
export const pullWorld = (deps: PullDeps, key: string, live: World | undefined): Promise<Result> =>
  pullResource(deps, { kind: 'world', key, live, client: deps.worlds, apply: applyObservation })

/** Writes the changes of a verdict to the row and marks it dirty if a push must follow. */
const recordVerdict = async (
  deps: PullDeps,
  tx: Transaction,
  row: WorldRow,
  live: World,
  verdict: Verdict,
): Promise<Outcome> => {
  const now = new Date(deps.clock.now())
  const { reasons } = verdict
  if (verdict.deployments.length > 0) deps.logKeeper.note(row, live)
  const edited = await recordEdit(tx, row, { verdict, now, ...deps })
  const intent = verdict.markDeleting ? { ...deletionOf(deps, row), revision: row.revision + 1 } : edited
  const after = { ...row, ...intent }
  const refusal = refusalColumn(row, verdict, { ...versionsOf(live), revision: after.revision, nowMs: now.getTime() })
  const columns = {
    ...observedColumns(row, verdict),
    ...newestVersion(row, live.metadata),
    // The live spec becomes the base for the next comparison, even before the merged one is pushed.
    ...(verdict.acknowledged ? { applied: toBase(live.spec, after) } : {}),
    ...refusal,
    ...intent,
  }
  const update = hasChanges(row, columns) && updateColumns(tx, row.id, columns)
  const written = Promise.all([update, recordObserved(tx, row, live, { verdict, now, newId: deps.newId })])
  written.catch(() => undefined)
  const wake = Boolean(verdict.acknowledged || verdict.pushAgain || verdict.markDeleting)
  if (wake || verdict.edit !== undefined) await written
  await recordAdoptedState(tx, { ...row, ...after }, { verdict, now, newId: deps.newId })
  if (verdict.markDeleting) await deleteWorldContents(tx, { ...row, worldId: row.id }, deletionOf(deps, row))
  if (wake) await markDirty(tx, { kind: 'world', id: row.id, revision: after.revision })
  const phase = verdict.observed?.phase
  const settled = phase !== row.phase && phase !== undefined && isAnswer(live, phase) ? { settled: phase } : {}
  return {
    wake,
    written,
    ...settled,
    ...(verdict.release ? { release: true } : {}),
    reasons,
    ...shownState(row, row.id, { ...refusal, ...edited }),
  }
}

/** Reports whether a phase is what the present spec leads to for the first time, and not the end or restart of a server. */
const isAnswer = ({ spec, status }: World, phase: WorldRow['phase']): boolean => {
  if (answeredBy[phase] !== spec.state) return false
  return !isJoinable({ phase }) || status?.run?.restarts === 0
}

/** The desired state that each phase answers. A start is under way in Starting. */
const answeredBy: Readonly<Record<WorldPhase, WorldState | undefined>> = {
  Inactive: 'Stopped',
  Starting: undefined,
  Active: 'Running',
  Stopped: 'Stopped',
  Error: 'Running',
}

/** Returns the times of a deletion. A transient world that has expired is not kept. */
const deletionOf = (deps: PullDeps, row: WorldRow): Deletion => {
  const deletion = toDeletion(deps)
  const { deletingAt } = deletion
  return hasExpired(deps, row) ? { deletingAt, purgeAt: deletingAt } : deletion
}

/** Reports whether a world is transient and its time is over, so that the operator deletes it. */
const hasExpired = ({ clock }: PullDeps, { transient, startedAt, runtime }: WorldRow): boolean => {
  const endsAtMs = (startedAt?.getTime() ?? Number.POSITIVE_INFINITY) + (runtime.durationMinutes ?? 0) * 60_000
  return transient && endsAtMs <= clock.now()
}

/** Records the deployment of a run that was started or stopped with kubectl, as a start or stop over REST does. */
const recordAdoptedState = async (
  tx: Transaction,
  row: WorldRow,
  { verdict: { edit }, ...made }: { verdict: Verdict; now: Date; newId: PullDeps['newId'] },
): Promise<void> => {
  const { now } = made
  if (edit?.state === undefined) return
  const { runId } = row
  if (edit.state === 'Running' && runId !== null) await recordStart(tx, { ...row, runId }, now)
  if (edit.state === 'Stopped') await endUnseen(tx, row.id, now)
  const started = edit.wait === undefined ? startEvent(runId ?? '') : waitEvent(edit.wait.message)
  await recordWorldEvents(tx, row, [edit.state === 'Running' ? started : stopEvent()], made)
}

const applyObservation = createObservation<World, WorldRow, Verdict>({
  kind: 'world',
  read: readWorld,
  lock: async (tx, id) => {
    // One round trip. The mark is read after the row is locked.
    const [row, isMarked] = await Promise.all([lockRow(tx, id), isDirty(tx, 'world', id)])
    return row && { row, isDirty: isMarked }
  },
  insert: async (deps, tx, { organizationId, live }) => {
    const row = await insertNewWorld(deps, tx, { organizationId, ...live })
    const displayName = live.spec.displayName || row.name
    return { row, live: { ...live, spec: { ...live.spec, displayName } } }
  },
  decide: async (deps, tx, row, { seen, isDirty, lost }) => {
    const sides = sidesOf(row, seen)
    const facts = needsFacts(sides) ? await readFacts(deps, tx, row) : noFacts
    return observeWorld(row, seen, isDirty, { facts, lost, sides })
  },
  record: recordVerdict,
  deletionOf: (deps, row) => (hasExpired(deps, row) ? 'expiry' : 'deletion'),
})
