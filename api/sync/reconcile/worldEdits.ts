import { isDeepStrictEqual } from 'node:util'
import { eq } from 'drizzle-orm'
import { readWorldBots } from '#api/domain/bots/live.ts'
import { findBuild } from '#api/domain/builds/builds.ts'
import { hasNewPlace, movesAtOnce, toMoveColumns } from '#api/domain/worlds/move.ts'
import { rescheduled } from '#api/domain/worlds/schedule.ts'
import { readStartFacts, type StartDeps } from '#api/domain/worlds/start.ts'
import { launchContexts, type WorldRow } from '#api/domain/worlds/table.ts'
import { toStart, toStop, toWait, type WorldChange } from '#api/domain/worlds/transitions.ts'
import type { Transaction } from '#api/platform/database/client.ts'
import { toWorldColumns, type WorldEdit } from '#api/sync/merge/world.ts'
import type { WorldFacts } from '#api/sync/merge/worldRules.ts'
import type { ReconcileDeps } from './kind.ts'

/** Reads what the rules for edits depend on. It locks the organization's row, after the world's. */
export const readFacts = async (
  deps: StartDeps & Pick<ReconcileDeps, 'clusterOf' | 'profiles' | 'hostPorts' | 'clock'>,
  tx: Transaction,
  row: WorldRow,
): Promise<WorldFacts> => {
  const build = await findBuild(tx, row.organizationId, row.runtime.build)
  return {
    ...(await readStartFacts(deps, tx, row, { now: new Date(deps.clock.now()) })),
    build,
    bots: await readWorldBots(tx, row.id),
    profiles: deps.profiles,
    hostPorts: deps.hostPorts,
    hasCluster: (place) => deps.clusterOf(place) !== undefined,
  }
}

/** The columns that an edit of a World sets in its row, and the start or stop that it is. */
export type WorldIntent = Omit<WorldChange, 'columns'> & { readonly columns: Partial<WorldRow> }

type EditDeps = Pick<ReconcileDeps, 'clusterOf' | 'newId'>

/** Returns what an edit sets, apart from the revision. Writes the launch context; undefined if there is none. */
export const editWorld = async (
  deps: EditDeps,
  tx: Transaction,
  { row, now }: { readonly row: WorldRow; readonly now: Date },
  { edit, revision }: { readonly edit: WorldEdit; readonly revision: number },
): Promise<WorldIntent | undefined> => {
  const [context] = await tx.select().from(launchContexts).where(eq(launchContexts.worldId, row.id)).for('update')
  if (context === undefined) return undefined
  const { world, context: changed } = toWorldColumns(row, context, edit.spec)
  await tx.update(launchContexts).set(changed).where(eq(launchContexts.id, context.id))
  const nextAction = rescheduled(row, world.runtime, now)
  const edited = { ...row, ...world, nextAction, revision }
  const { columns, ...transition } = toTransition(deps, edited, { edit, now })
  const move = isMoved(row, edited, edit) ? toMoveColumns(edited, deps.clusterOf) : {}
  return { ...transition, columns: { ...world, nextAction, ...columns, ...move } }
}

/** Reports whether an edit moves a world to another place now: a start after the place changed, or a new place without a run. */
const isMoved = (row: WorldRow, edited: WorldRow, { state }: WorldEdit): boolean =>
  state === 'Running' ? hasNewPlace(edited) : movesAtOnce(row) && !isDeepStrictEqual(row.compute, edited.compute)

const toTransition = (
  { newId, clusterOf }: EditDeps,
  row: WorldRow,
  { edit: { state, wait, build = null }, now }: { edit: WorldEdit; now: Date },
): WorldIntent => {
  if (state === 'Stopped') return toStop(row, { now })
  if (state === undefined) return { columns: {} }
  return wait === undefined ? toStart(row, { runId: newId('run'), now, build, clusterOf }) : toWait(row, { wait, now })
}
