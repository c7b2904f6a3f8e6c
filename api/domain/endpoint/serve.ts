import type { Context as HonoContext } from 'hono'
import { authorise, authoriseCall, pathOf } from '#api/domain/access/authorise.ts'
import type { Context, Deps, ScopeIds } from '#api/domain/access/context.ts'
import type { Verb } from '#api/domain/access/permissions.ts'
import type { Principal } from '#api/platform/auth/principal.ts'
import { answer } from '#api/platform/http/answer.ts'
import { isStorable, readJson } from '#api/platform/http/body.ts'
import { type InputFault, notFound, Problem } from '#api/platform/http/problem.ts'
import type { RateLimits } from '#api/platform/http/rateLimit.ts'
import { readPicture } from '#api/platform/http/upload.ts'
import { idempotencyOf } from '#api/platform/idempotency/key.ts'
import type { Upgrade } from '#api/realtime/admission.ts'
import { type IdKind, isId } from '#shared/ids.ts'
import type { Credential, Depth, Endpoint, Node, NodeFinder, RawInput, Reply, Scope } from './endpoint.ts'

/** The header names of the contract. */
export const organizationHeader = 'x-svc-organization-id'
export const projectHeader = 'x-svc-project-id'
export const worldHeader = 'x-svc-world-id'

/**
 * What middleware leaves for handlers and for the log line (`headers`: what the answer will bear, whatever it is), and
 * what the server gives: `upgrade` where the request is
 * answered by a WebSocket when its route admits it, which the route says by `upgraded`.
 */
export type Env = {
  Bindings: { upgrade?: Upgrade }
  Variables: { requestId: string; headers: Record<string, string>; context: Context; upgraded?: boolean }
}

/** Everything that serving an endpoint needs beside the endpoint. */
export type Runtime = {
  readonly deps: Deps
  readonly authenticate: (c: HonoContext<Env>, accepted: Credential) => Promise<Principal>
  readonly limits: RateLimits
}

/**
 * Serves one endpoint. The order of the checks is the same everywhere: credential, rate, headers, scope (404),
 * permission (403), input (400, 413, 415). A fault of the input is told only once the scope is known to exist, so that
 * a foreign node and an absent one cannot be told apart; a good request pays no query for that.
 */
export const serve = async (runtime: Runtime, endpoint: Endpoint, c: HonoContext<Env>): Promise<Response> => {
  const principal = await runtime.authenticate(c, endpoint.credential ?? 'key')
  const { faults, ...ids } = scopeOf(c, endpoint.scope ?? 'none')
  const ctx: Context = { ...runtime.deps, ...ids, principal, idempotency: undefined, verb: undefined }
  c.set('context', ctx)
  Object.assign(c.get('headers'), runtime.limits.take(principal))
  if (faults.length > 0) {
    const names = faults.map(({ path }) => path).join(', ')
    throw new Problem('invalid_request', `Headers are missing: ${names}.`, { errors: faults })
  }
  const params = paramsOf(c, ctx)
  const { verb, raw, run } = await admit(ctx, endpoint, c, params)
  if (endpoint.throttled) runtime.limits.takeForWorld(ctx, params.worldId ?? '')
  const key = endpoint.idempotent ? c.req.header('idempotency-key') : undefined
  const idempotency = idempotencyOf(key, endpoint, [ctx.organizationId, ctx.projectId], raw)
  const reply = await run({ ...ctx, idempotency, verb })
  const headers = { ...reply.headers, ...(idempotency?.replayed && { 'idempotency-replayed': 'true' }) }
  const { status } = endpoint
  if (reply.body === undefined) return answer(c, null, { status, headers })
  return answer(c, JSON.stringify(reply.body), { status, headers: { ...headers, 'content-type': 'application/json' } })
}

/** Permission, then input. */
const admit = async (
  ctx: Context,
  endpoint: Endpoint,
  c: HonoContext<Env>,
  params: Record<string, string>,
): Promise<Prepared & { verb: Verb | undefined }> => {
  const [where, needed] = endpoint.needs ?? []
  const node = where && nodeOf(where, ctx, params)
  try {
    const verb = node && needed && authorise(ctx, pathTo(node), needed, { subtree: endpoint.subtree === true })
    authoriseCall(ctx.principal, endpoint)
    return { verb, ...(await prepare(c, endpoint, params)) }
  } catch (error) {
    if (isTold(error) && node && !(await isThere(ctx, endpoint, node, params))) throw notFound()
    throw error
  }
}

const isTold = (error: unknown): boolean => error instanceof Problem && error.status < 500

type Prepared = { raw: RawInput; run: (ctx: Context) => Promise<Reply<unknown>> }

/** Reads and parses the input; throws a problem that lists its faults. */
const prepare = async (c: HonoContext<Env>, endpoint: Endpoint, params: Record<string, string>): Promise<Prepared> => {
  const raw: RawInput = {
    params,
    query: endpoint.query ? queryOf(c) : {},
    body: endpoint.upload
      ? await readPicture(c.req.raw)
      : endpoint.body
        ? await readJson(c.req.raw, endpoint)
        : undefined,
    ifMatch: endpoint.ifMatch ? c.req.header('if-match') : undefined,
  }
  return { raw, run: endpoint.prepare(raw) }
}

/** Parameters are texts; one that is given several times is a list. */
const queryOf = (c: HonoContext<Env>): RawInput['query'] =>
  Object.fromEntries(
    Object.entries(c.req.queries()).map(([name, values]) => [name, values.length === 1 ? (values[0] ?? '') : values]),
  )

const scopeOf = (c: HonoContext<Env>, scope: Scope): ScopeIds & { faults: InputFault[] } => {
  const read = (header: string, reads: boolean): string => (reads ? (c.req.header(header) ?? '') : '')
  const organizationId = read(organizationHeader, scope !== 'none')
  const projectId = read(projectHeader, scope !== 'none' && scope !== 'organization')
  const worldId = read(worldHeader, scope === 'organization?project?world')
  const missing = [
    ...(organizationId === '' && (projectId !== '' || (scope !== 'none' && scope !== 'optional'))
      ? [organizationHeader]
      : []),
    ...(scope === 'project' && projectId === '' ? [projectHeader] : []),
  ]
  const faults = missing.map((path) => ({ path, message: 'this header is missing' }))
  return { organizationId, projectId, worldId, faults }
}

/** The names in paths that are ids, and of what. */
export const idParams: Partial<Record<string, IdKind>> = {
  organizationId: 'organization',
  worldId: 'world',
  botDeploymentId: 'bot',
  apiKeyId: 'apiKey',
  tokenId: 'token',
}

/** An id that no source could have made names nothing. An organization in the path must be that of the header. */
const paramsOf = (c: HonoContext<Env>, ctx: Context): Record<string, string> => {
  const params: Record<string, string> = c.req.param()
  const wellFormed = Object.entries(params).every(([name, value]) => {
    const kind = idParams[name]
    return kind === undefined ? isStorable(value) : isId(kind, value)
  })
  const scoped =
    (ctx.organizationId === '' || isId('organization', ctx.organizationId)) &&
    (ctx.projectId === '' || isId('project', ctx.projectId)) &&
    (ctx.worldId === '' || isId('world', ctx.worldId))
  const agreed = params.organizationId === undefined || params.organizationId === ctx.organizationId
  if (!wellFormed || !scoped || !agreed) throw notFound()
  return params
}

const nodeOf = (where: Depth | NodeFinder, ctx: Context, params: Readonly<Record<string, string>>): Node => {
  if (typeof where === 'function') return where(ctx, params)
  const { organizationId, projectId } = ctx
  return { depth: where, organizationId, projectId, worldId: params.worldId ?? '' }
}

const pathTo = ({ depth, organizationId, projectId, worldId }: Node): string =>
  pathOf(organizationId, depth === 'organization' ? undefined : projectId, depth === 'world' ? worldId : undefined)

const isThere = async (
  ctx: Context,
  { exists }: Endpoint,
  { depth, ...ids }: Node,
  params: Readonly<Record<string, string>>,
): Promise<boolean> => (await ctx.scopeExists(depth, ids)) && (exists === undefined || (await exists(ctx, params)))
