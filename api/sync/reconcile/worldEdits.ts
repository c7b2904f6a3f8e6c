import { isDeepStrictEqual } from 'node:util'
import { eq } from 'drizzle-orm'
import type { Deps } from '#api/domain/access/context.ts'
import { readWorldBots } from '#api/domain/bots/live.ts'
import { resolveBuild } from '#api/domain/builds/builds.ts'
import { lockLimits } from '#api/domain/organizations/organizations.ts'
import { hasNewPlace, toMoveColumns } from '#api/domain/worlds/move.ts'
import { readRecentStarts, sumRunning } from '#api/domain/worlds/running.ts'
import { startDelayMs } from '#api/domain/worlds/start.ts'
import { launchContexts, type WorldRow } from '#api/domain/worlds/table.ts'
import { toStartColumns, toStopColumns, toWaitingColumns } from '#api/domain/worlds/transitions.ts'
import type { Transaction } from '#api/platform/database/client.ts'
import { Problem } from '#api/platform/http/problem.ts'
import { toWorldColumns, type WorldEdit } from '#api/sync/merge/world.ts'
import type { WorldFacts } from '#api/sync/merge/worldRules.ts'
import { noBotUse } from '#shared/domain/botUse.ts'
import { isRunning } from '#shared/domain/phases.ts'
import { noUse } from '#shared/domain/runUse.ts'
import type { NewId } from '#shared/ids.ts'
import { scalingProfiles } from '#shared/scalingProfiles.ts'
import type { LimitDeps } from './kind.ts'

/** Reads what the rules for edits depend on. It locks the organization's row, after the world's. */
export const readFacts = async (
  deps: LimitDeps & Pick<Deps, 'profiles' | 'clock'>,
  tx: Transaction,
  row: WorldRow,
): Promise<WorldFacts> => {
  const { organizationId } = row
  const { startsPerMinute } = deps
  const now = new Date(deps.clock.now())
  const startedAtMs = await readRecentStarts(tx, row, { startsPerMinute, now })
  const build = await findBuild(tx, row)
  return {
    build,
    startsPerMinute,
    startDelayMs: startDelayMs(startedAtMs, startsPerMinute, now.getTime()),
    limits: await lockLimits({ organizationId, defaultLimits: deps.defaultLimits }, tx),
    others: await sumRunning(tx, { organizationId, exceptId: row.id }),
    bots: await readWorldBots(tx, row.id),
    profiles: deps.profiles,
    hasCluster: (place) => deps.clusterOf(place) !== undefined,
  }
}

const findBuild = async (tx: Transaction, { organizationId, runtime }: WorldRow): Promise<WorldFacts['build']> => {
  try {
    return await resolveBuild(tx, organizationId, runtime.build)
  } catch (error) {
    if (error instanceof Problem) return error.message
    throw error
  }
}

/** Facts for a World without edits. */
export const noFacts: WorldFacts = {
  build: null,
  startsPerMinute: 0,
  startDelayMs: 0,
  limits: { maxWorldCapacity: 0, imageRegistries: [], maxRunningCapacity: 0, maxNodePorts: 0, maxLoadBalancers: 0 },
  others: noUse,
  bots: { live: 0, largest: noBotUse },
  profiles: scalingProfiles,
  hasCluster: () => false,
}

/** Returns the columns that an edit sets, apart from the revision. Writes the launch context; undefined if there is none. */
export const editWorld = async (
  { newId, clusterOf }: Pick<LimitDeps, 'clusterOf'> & { readonly newId: NewId },
  tx: Transaction,
  { row, now }: { readonly row: WorldRow; readonly now: Date },
  { edit, revision }: { readonly edit: WorldEdit; readonly revision: number },
): Promise<Partial<WorldRow> | undefined> => {
  const [context] = await tx.select().from(launchContexts).where(eq(launchContexts.worldId, row.id)).for('update')
  if (context === undefined) return undefined
  const columns = toWorldColumns(row, context, edit.spec)
  await tx.update(launchContexts).set(columns.context).where(eq(launchContexts.id, context.id))
  const edited = { ...row, ...columns.world, revision }
  return {
    ...columns.world,
    ...toStateColumns(edited, { edit, now, newId }),
    ...(isMoved(row, edited, edit) ? toMoveColumns(edited, clusterOf) : {}),
  }
}

/** Reports whether an edit moves a world to another place now: a start after the place changed, or a new place without a run. */
const isMoved = (row: WorldRow, edited: WorldRow, { state }: WorldEdit): boolean =>
  state === 'Running' ? hasNewPlace(edited) : !isRunning(row) && !isDeepStrictEqual(row.compute, edited.compute)

const toStateColumns = (
  row: WorldRow,
  { edit, now, newId }: { edit: WorldEdit; now: Date; newId: NewId },
): Partial<WorldRow> => {
  if (edit.state === 'Stopped') return toStopColumns(row, { now })
  if (edit.state === undefined) return {}
  const { wait, build = null } = edit
  if (wait !== undefined) return toWaitingColumns(row, { wait, now })
  return toStartColumns(row, { run: { runId: newId('run'), startedAt: now }, now, build })
}
