import { and, eq, isNull } from 'drizzle-orm'
import { checkDeploymentCount } from '#api/domain/bots/service.ts'
import { type BotRow, botDeployments } from '#api/domain/bots/table.ts'
import { lockLimits } from '#api/domain/organizations/service.ts'
import { worlds } from '#api/domain/worlds/table.ts'
import type { Transaction } from '#api/platform/database/client.ts'
import { toBotColumns } from '#api/sync/merge/adoptBots.ts'
import { desiredBotSpec } from '#api/sync/rows/desired.ts'
import type { Clock } from '#shared/clock.ts'
import { idOfUid, isId } from '#shared/ids.ts'
import type { ObjectMeta } from '#shared/kube/objects.ts'
import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import type { LimitDeps } from './edits.ts'
import { NotAdopted } from './newResource.ts'

/**
 * Adds the row of a BotDeployment that kubectl created, with no bots: the merge that follows checks and takes over the count.
 * Throws `NotAdopted`, or a `Problem` at a limit.
 */
export const insertNewBots = async (
  deps: LimitDeps & { readonly cluster: string; readonly clock: Clock },
  tx: Transaction,
  { organizationId, metadata, spec }: { organizationId: string; metadata: ObjectMeta; spec: BotDeployment['spec'] },
): Promise<BotRow> => {
  const now = new Date(deps.clock.now())
  const { name, uid = '' } = metadata
  const [world] = await tx
    .select()
    .from(worlds)
    .where(
      and(
        eq(worlds.organizationId, organizationId),
        eq(worlds.cluster, deps.cluster),
        eq(worlds.resourceName, spec.worldName),
        isNull(worlds.deletingAt),
      ),
    )
    .for('no key update')
  if (world === undefined) {
    throw new NotAdopted(
      'WorldNotFound',
      `The World ${spec.worldName} has not been adopted by the API. Its bots wait until it is.`,
    )
  }
  const limits = await lockLimits({ organizationId, defaultLimits: deps.defaultLimits }, tx)
  await checkDeploymentCount({ organizationId }, tx, world.id, limits)
  const [row] = await tx
    .insert(botDeployments)
    .values({
      id: isId('bot', name) ? name : idOfUid('bot', uid),
      organizationId,
      projectId: world.projectId,
      worldId: world.id,
      worldName: spec.worldName,
      cluster: world.cluster,
      ...toBotColumns({ ...spec, count: 0 }),
      resourceName: name,
      resourceUid: uid,
      createdAt: now,
      updatedAt: now,
    })
    .returning()
  if (row === undefined) throw new Error('Postgres returned no row.')
  const { revision: _, granted: __, ...applied } = desiredBotSpec(row)
  await tx.update(botDeployments).set({ applied }).where(eq(botDeployments.id, row.id))
  return { ...row, applied }
}
