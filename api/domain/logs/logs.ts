import { and, desc, eq, inArray } from 'drizzle-orm'
import type { Context } from '#api/domain/access/context.ts'
import { whereBots } from '#api/domain/bots/bots.ts'
import { botDeployments } from '#api/domain/bots/table.ts'
import type { StreamedBody } from '#api/domain/endpoint/endpoint.ts'
import { type DeploymentRow, deployments, type WorldRow, worlds } from '#api/domain/worlds/table.ts'
import { whereWorld } from '#api/domain/worlds/worlds.ts'
import type { Principal } from '#api/platform/auth/principal.ts'
import type { Database } from '#api/platform/database/client.ts'
import { found, notFound, Problem } from '#api/platform/http/problem.ts'
import { eventEncoding, type LogEncoding, type LogEnd, textEncoding } from '#api/platform/logs/encoding.ts'
import { type LogBody, type StreamLimits, streamLog } from '#api/platform/logs/stream.ts'
import { includes, pathOf, strongestVerb } from '#shared/domain/permissions.ts'
import { hasEnded } from '#shared/domain/phases.ts'
import type { DeploymentStatus } from '#shared/enumerations.ts'
import { deploymentIdOfRun } from '#shared/ids.ts'
import { maxFollowMs, maxTailBytes } from '#shared/logs/reasons.ts'
import type { LogTicket } from '#shared/logs/ticket.ts'
import { withDefined } from '#shared/optional.ts'
import { namespaceOf } from '#shared/resources/group.ts'
import { explainNoLog } from './noLog.ts'
import type { Since } from './query.ts'
import { deploymentLogs } from './table.ts'

/** The part of the log that a request asks for, and its form. */
type LogRequest = { readonly follow: boolean; readonly since?: Since | undefined; readonly accept: string }

const streamLimits: StreamLimits = {
  durationMs: maxFollowMs,
  bytesPerSecond: 256 * 1024,
  burstBytes: 4 * 1024 * 1024,
  keepAliveMs: 15_000,
}
/** The number of lines from the end without `since`. */
const defaultLines = 1_000
/** The number of runs of a world whose logs are kept. */
const maxKeptLogs = 10

/**
 * Reads the log of a run of a world: from its server while there is one, else the end that was kept. Throws a 404 if none was
 * kept, and a 409 if the server has not started.
 */
export const readWorldLog = async (
  ctx: Context,
  { worldId, deployment: id, ...request }: LogRequest & { worldId: string; deployment?: string | undefined },
): Promise<StreamedBody> => {
  const world = await findWorld(ctx, worldId)
  const deployment = await findDeployment(ctx, world, id)
  const isOver = hasEnded(deployment)
  const server = isOver ? undefined : serverOf(world, deployment)
  const ticket = server && { ...commonTicket(ctx, request), ...server }
  const live = ticket && (await openStream(ctx, { ...request, cluster: world.cluster, ticket, worldId }))
  if (live !== undefined) return live
  const kept = await findKeptLog(ctx, deployment.id)
  if (kept !== undefined) return sendKept(kept, request)
  if (isOver) throw new Problem('not_found', explainNoLog(deployment.endReason))
  throw notStarted(`The server has no log yet: the status of the deployment is ${deployment.status}.`)
}

/** Reads the log of a running bot. Throws a 409 if the bot does not run. */
export const readBotLog = async (
  ctx: Context,
  { worldId, botDeploymentId, bot, ...request }: LogRequest & { worldId: string; botDeploymentId: string; bot: number },
): Promise<StreamedBody> => {
  const [row] = await ctx.db
    .select({
      cluster: botDeployments.cluster,
      name: botDeployments.resourceName,
      uid: botDeployments.resourceUid,
    })
    .from(botDeployments)
    .where(whereBots(ctx, { worldId, botDeploymentId }))
  if (row === undefined) throw notFound()
  const { cluster, name, uid } = row
  const live =
    uid === null
      ? undefined
      : await openStream(ctx, {
          ...request,
          cluster,
          ticket: { ...commonTicket(ctx, request), kind: 'BotDeployment', name, uid, bot },
          worldId,
        })
  if (live === undefined) throw notStarted(`Bot ${bot} of the deployment does not run.`)
  return live
}

const notStarted = (why: string): Problem =>
  new Problem('conflict', `${why} Retry in a few seconds.`, { headers: { 'retry-after': '3' } })

const findWorld = async (ctx: Context, worldId: string): Promise<WorldRow> =>
  found(await ctx.db.select().from(worlds).where(whereWorld(ctx, worldId)))

type Deployment = Pick<DeploymentRow, 'id' | 'runId' | 'externalId' | 'status' | 'endReason'>

/** Reads what names the server of a run, its status and its end; undefined if the world has no such deployment. */
export const findDeploymentRow = async (
  ctx: Context,
  worldId: string,
  deploymentId: string,
): Promise<Deployment | undefined> => {
  const { id, runId, externalId, status, endReason } = deployments
  const [row] = await ctx.db
    .select({ id, runId, externalId, status, endReason })
    .from(deployments)
    .where(
      and(
        eq(deployments.organizationId, ctx.organizationId),
        eq(deployments.projectId, ctx.projectId),
        eq(deployments.worldId, worldId),
        eq(deployments.id, deploymentId),
      ),
    )
  return row
}

/** Returns the deployment of that id, or of the newest run. */
const findDeployment = async (ctx: Context, world: WorldRow, id: string | undefined): Promise<Deployment> => {
  if (id === undefined && world.runId === null) {
    throw new Problem('conflict', 'The world has no run, so it has no log. Start it first.')
  }
  const wanted = id ?? deploymentIdOfRun(world.runId ?? '')
  const row = await findDeploymentRow(ctx, world.id, wanted)
  if (row !== undefined) return row
  if (id !== undefined) throw new Problem('not_found', `The world has no deployment ${id}.`)
  throw notStarted('The run of the world is not on record yet.')
}

const commonTicket = (ctx: Context, { follow, since }: LogRequest) => ({
  source: 'pod' as const,
  namespace: namespaceOf(ctx.namespacePrefix, ctx.organizationId),
  follow,
  ...(since ?? { tailLines: defaultLines }),
})

/** True if the pod on record is that of the server. While a server is replaced, it is that of its lost predecessor. */
const isPodOfServer: Readonly<Record<DeploymentStatus, boolean>> = {
  Unknown: true,
  Pending: true,
  Starting: true,
  Running: true,
  Restarting: false,
  Stopping: true,
  Stopped: true,
  Error: true,
}

/** Returns the part of a ticket that names the server of a run; undefined while the world has no resource. */
export const serverOf = (
  { resourceName: name, resourceUid: uid }: Pick<WorldRow, 'resourceName' | 'resourceUid'>,
  { runId, externalId, status }: Deployment,
) => {
  if (uid === null) return undefined
  const podUid = externalId === '' || !isPodOfServer[status] ? undefined : externalId
  return { kind: 'World' as const, name, uid, runId, ...withDefined({ podUid }) }
}

const encodingOf = ({ accept }: LogRequest): LogEncoding =>
  accept.includes('text/event-stream') ? eventEncoding() : textEncoding()

/** Opens a log of a world and returns its body; undefined if there is no such pod, or its container has not started. */
const openStream = async (
  ctx: Context,
  { cluster, ticket, worldId, ...request }: LogRequest & { cluster: string; ticket: LogTicket; worldId: string },
): Promise<StreamedBody | undefined> => {
  const encoding = encodingOf(request)
  const reading = new AbortController()
  let sent: LogBody | undefined
  const end = (reason: LogEnd): void => (sent === undefined ? reading.abort() : sent.end(reason))
  const { principal, organizationId } = ctx
  const findEnd = (present: Principal) => findEndOfReading(ctx, worldId, present)
  const release = ctx.logSlots.take({ principal, organizationId, findEnd, end })
  try {
    const opened = await ctx.logs.of(cluster).open(ticket, reading.signal)
    if ('refusal' in opened) {
      release()
      return undefined
    }
    const onEnd = (): void => {
      release()
      reading.abort()
    }
    sent = streamLog(opened.chunks, { encoding, limits: streamLimits, clock: ctx.clock, onEnd })
    return { contentType: encoding.contentType, body: sent.body }
  } catch (error) {
    release()
    throw error
  }
}

/** Returns why the log of a world must end: the caller may no longer change the world, or it is deleted. */
const findEndOfReading = async (
  { organizationId, projectId, scopeExists }: Context,
  worldId: string,
  { permissions }: Principal,
): Promise<LogEnd | undefined> => {
  const verb = strongestVerb(permissions, pathOf(organizationId, projectId, worldId))
  if (verb === undefined || !includes(verb, 'w')) return 'Revoked'
  return (await scopeExists('world', { organizationId, projectId, worldId })) ? undefined : 'Deleted'
}

const findKeptLog = async (ctx: Context, deploymentId: string): Promise<Buffer | undefined> => {
  const [row] = await ctx.db
    .select({ content: deploymentLogs.content })
    .from(deploymentLogs)
    .where(and(eq(deploymentLogs.organizationId, ctx.organizationId), eq(deploymentLogs.deploymentId, deploymentId)))
  return row?.content
}

const sendKept = (content: Buffer, request: LogRequest): StreamedBody => {
  const encoding = encodingOf(request)
  const parts = [encoding.encode(content), encoding.finish('End')]
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      for (const part of parts) if (part.length > 0) controller.enqueue(part)
      controller.close()
    },
  })
  return { contentType: encoding.contentType, body }
}

/** Keeps the end of the log of a server with its deployment. A world keeps those of its newest 10 runs that have one. */
export const keepLog = async (
  db: Database,
  {
    deploymentId,
    organizationId,
    worldId,
    podUid,
    content,
    now,
  }: {
    deploymentId: string
    organizationId: string
    worldId: string
    podUid: string
    content: Buffer
    now: Date
  },
): Promise<void> => {
  const kept = { organizationId, worldId, podUid, content: content.subarray(-maxTailBytes), keptAt: now }
  await db
    .insert(deploymentLogs)
    .values({ deploymentId, ...kept })
    .onConflictDoUpdate({ target: deploymentLogs.deploymentId, set: kept })
  const surplus = db
    .select({ id: deploymentLogs.deploymentId })
    .from(deploymentLogs)
    .where(eq(deploymentLogs.worldId, worldId))
    .orderBy(desc(deploymentLogs.keptAt), desc(deploymentLogs.deploymentId))
    .offset(maxKeptLogs)
  await db.delete(deploymentLogs).where(inArray(deploymentLogs.deploymentId, surplus))
}
