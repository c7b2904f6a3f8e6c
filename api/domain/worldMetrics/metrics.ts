import type { Context } from '#api/domain/access/context.ts'
import { runInShare } from '#api/domain/endpoint/serve.ts'
import { findDeploymentRow, serverOf } from '#api/domain/logs/logs.ts'
import { worlds } from '#api/domain/worlds/table.ts'
import { whereWorld } from '#api/domain/worlds/worlds.ts'
import { found, Problem } from '#api/platform/http/problem.ts'
import { hasEnded } from '#shared/domain/phases.ts'
import { deploymentIdOfRun } from '#shared/ids.ts'
import { namespaceOf } from '#shared/resources/group.ts'
import type { WorldMetrics } from './schema.ts'

/**
 * Reads the newest sample of the server of a world. Throws a 409 if there is no server, or no sample of it yet, a 501 if the cluster gives
 * no samples, and a 503 if none can be read at the moment. Holds no share of the requests while it waits for the operator.
 */
export const readWorldMetrics = async (ctx: Context, worldId: string): Promise<WorldMetrics> => {
  const { world, deployment } = await runInShare(ctx, () => findRun(ctx, worldId))
  if (deployment === undefined && world.state === 'Running') throw noneYet('The server has not started.')
  if (deployment === undefined || hasEnded(deployment)) {
    throw new Problem('conflict', 'The world has no server, so it has no metrics. Start it first.')
  }
  const server = serverOf(world, deployment)
  const namespace = namespaceOf(ctx.namespacePrefix, ctx.organizationId)
  const ticket = server && { source: 'metrics' as const, namespace, ...server, follow: false }
  const sample = ticket && (await ctx.logs.of(world.cluster).readSample(ticket))
  if (sample === undefined) {
    throw noneYet(`The cluster has no sample of the server yet: the status of its deployment is ${deployment.status}.`)
  }
  const { podUid, ...values } = sample
  return { externalId: podUid, ...values }
}

const findRun = async (ctx: Context, worldId: string) => {
  const { cluster, state, runId, resourceName, resourceUid } = worlds
  const columns = { cluster, state, runId, resourceName, resourceUid }
  const world = found(await ctx.db.select(columns).from(worlds).where(whereWorld(ctx, worldId)))
  return { world, deployment: await findDeploymentRow(ctx, worldId, deploymentIdOfRun(world.runId ?? '')) }
}

const noneYet = (why: string): Problem =>
  new Problem('conflict', `${why} Retry after the time in Retry-After.`, { headers: { 'retry-after': '15' } })
