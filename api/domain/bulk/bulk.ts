import { and, asc, inArray, isNull } from 'drizzle-orm'
import { authorise } from '#api/domain/access/authorise.ts'
import type { Context } from '#api/domain/access/context.ts'
import { deleteWorld } from '#api/domain/deletion/deletion.ts'
import { runInShare } from '#api/domain/endpoint/serve.ts'
import { auditAs } from '#api/domain/endpoint/trail.ts'
import {
  checkScopeExists,
  isScan,
  whereInScope,
  whereMatching,
  whereReadable,
} from '#api/domain/worlds/listing/listing.ts'
import { startWorld } from '#api/domain/worlds/start.ts'
import { type WorldRow, worlds } from '#api/domain/worlds/table.ts'
import { needsAction } from '#api/domain/worlds/transitions.ts'
import { stopWorld } from '#api/domain/worlds/worlds.ts'
import type { Queries } from '#api/platform/database/client.ts'
import { runScan } from '#api/platform/database/readPage.ts'
import { notFound, Problem, toProblem } from '#api/platform/http/problem.ts'
import { pathOf } from '#shared/domain/permissions.ts'
import { type BulkAction, type BulkAnswer, maxBulkWorlds } from './schema.ts'

type Target = Pick<WorldRow, 'id' | 'projectId'>
type Result = BulkAnswer['results'][number]

/** The maximum number of worlds that are changed at the same time. Each needs a connection of the organization's share. */
const concurrency = 4

/**
 * Starts, stops, restarts or deletes worlds, each in its own transaction with its own audit record. Permissions and the rate limit of
 * starts and stops count for each world; a refusal is the result of that world alone. Throws a 409 and changes nothing if
 * the filter matches more than `maxBulkWorlds` or another number than expected, and a 429 while another bulk action of the
 * organization is in progress on this replica.
 */
export const actOnWorlds = async (ctx: Context, body: BulkAction): Promise<BulkAnswer> => {
  await runInShare(ctx, () => checkScopeExists(ctx))
  return ctx.runBulk(ctx.organizationId, () => actOnEach(ctx, body), refuseParallel)
}

const refuseParallel = (): Problem => {
  const detail = 'Another bulk action of the organization is in progress. Retry after the time in Retry-After.'
  return new Problem('rate_limited', detail, { headers: { 'retry-after': '2' } })
}

const actOnEach = async (ctx: Context, body: BulkAction): Promise<BulkAnswer> => {
  const found = await runInShare(ctx, () => findTargets(ctx, body))
  const targets = body.ids === undefined ? found.map(({ id }) => id) : [...new Set(body.ids)]
  const results: Result[] = []
  for (let at = 0; at < targets.length; at += concurrency) {
    const batch = targets.slice(at, at + concurrency)
    const done = batch.map((id) => act(ctx, body.action, { id, target: found.find((each) => each.id === id) }))
    results.push(...(await Promise.all(done)))
  }
  return { results }
}

const findTargets = async (ctx: Context, { ids, filter, expectedCount }: BulkAction): Promise<Target[]> => {
  const wanted = ids === undefined ? whereMatching(filter ?? {}) : inArray(worlds.id, ids)
  const findIn = (db: Queries): Promise<Target[]> =>
    db
      .select({ id: worlds.id, projectId: worlds.projectId })
      .from(worlds)
      .where(and(whereInScope(ctx), whereReadable(ctx), wanted, isNull(worlds.deletingAt)))
      .orderBy(asc(worlds.createdAt), asc(worlds.id))
      .limit(maxBulkWorlds + 1)
  const found = await (isScan(filter ?? {}) ? runScan(ctx, findIn) : findIn(ctx.db))
  if (found.length > maxBulkWorlds) {
    const detail = `The filter matches more than ${maxBulkWorlds} worlds. Nothing was changed. Use a narrower filter.`
    throw new Problem('limit_reached', detail)
  }
  if (expectedCount !== undefined && expectedCount !== found.length) {
    const detail = `The filter matches ${found.length} worlds, not the expected ${expectedCount}. Nothing was changed.`
    throw new Problem('conflict', detail)
  }
  return found
}

const act = async (
  ctx: Context,
  action: BulkAction['action'],
  { id, target }: { id: string; target: Target | undefined },
): Promise<Result> => {
  try {
    if (target === undefined) throw notFound()
    await runInShare(ctx, () => actOnWorld(ctx, action, target))
    return { worldId: id, status: 200 }
  } catch (error) {
    const problem = toProblem(error)
    if (problem.status === 500) ctx.log.error({ err: error, world: id }, 'bulk action failed')
    return { worldId: id, status: problem.status, code: problem.code, detail: problem.message }
  }
}

const actOnWorld = async (request: Context, action: BulkAction['action'], target: Target): Promise<void> => {
  const { id, projectId } = target
  authorise(request, pathOf(request.organizationId, projectId, id), 'w')
  let isIdle = false
  // The operation that does the same with one world. A transaction that changes nothing leaves no record.
  const about = { action: action === 'restart' ? 'startWorld' : `${action}World`, resources: [id], fields: [] }
  const ctx = auditAs({ ...request, projectId }, { ...about, isRecorded: () => isIdle })
  if (action === 'delete') return deleteWorld(ctx, id)
  const needs = (row: WorldRow): boolean => {
    isIdle = !needsAction(action, row)
    if (!isIdle) request.countStart(projectId, id)
    return !isIdle
  }
  await (action === 'stop' ? stopWorld(ctx, id, { needs }) : startWorld(ctx, id, { needs }))
}
