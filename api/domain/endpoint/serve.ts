import type { IncomingMessage } from 'node:http'
import type { Context as HonoContext } from 'hono'
import { authorise, authoriseCall, pathOf } from '#api/domain/access/authorise.ts'
import type { Context, Deps } from '#api/domain/access/context.ts'
import type { Verb } from '#api/domain/access/permissions.ts'
import {
  organizationHeader,
  projectHeader,
  type ScopeIds,
  type ScopeKind,
  type ScopeRef,
  worldHeader,
} from '#api/domain/access/scope.ts'
import type { Credential } from '#api/platform/auth/authenticate.ts'
import type { Principal } from '#api/platform/auth/principal.ts'
import { answer } from '#api/platform/http/answer.ts'
import { isStorable, readJson } from '#api/platform/http/body.ts'
import { type InputFault, notFound, Problem } from '#api/platform/http/problem.ts'
import { readPicture } from '#api/platform/http/upload.ts'
import { parseIdempotencyKey } from '#api/platform/idempotency/key.ts'
import { type IdKind, isId } from '#shared/ids.ts'
import type { Upgrade } from './admission.ts'
import type { Endpoint, RawInput, Reply, Scope, ScopeResolver } from './endpoint.ts'
import type { RateLimits } from './rateLimit.ts'

/**
 * Per-request state. The server sets `upgrade` for a WebSocket handshake. Middleware sets the variables: `headers` are
 * added to every response, and `upgraded` is set by the route that accepts the WebSocket.
 */
export type Env = {
  Bindings: { incoming?: IncomingMessage; upgrade?: Upgrade }
  Variables: { requestId: string; headers: Record<string, string>; context: Context; upgraded?: boolean }
}

/** The dependencies of `serve`. */
export type Runtime = {
  readonly deps: Deps
  readonly authenticate: (c: HonoContext<Env>, accepted: Credential) => Promise<Principal>
  readonly limits: RateLimits
}

/**
 * Serves one endpoint. The order of the checks is always: credential, rate, headers, scope (404), permission (403), input
 * (400, 413, 415). Before a 4xx is sent, the scope is looked up: if it does not exist, the answer is 404. So another
 * tenant's scope and an absent one look the same, and a valid request needs no query for it.
 */
export const serve = async (runtime: Runtime, endpoint: Endpoint, c: HonoContext<Env>): Promise<Response> => {
  const principal = await runtime.authenticate(c, endpoint.credential ?? 'key')
  const { faults, ...ids } = scopeOf(c, endpoint.scope ?? 'none')
  const ctx: Context = { ...runtime.deps, ...ids, principal, idempotency: undefined, verb: undefined }
  c.set('context', ctx)
  Object.assign(c.get('headers'), runtime.limits.countRequest(principal))
  if (faults.length > 0) {
    const names = faults.map(({ path }) => path).join(', ')
    throw new Problem('invalid_request', `The request has no value for the headers ${names}.`, { errors: faults })
  }
  const params = paramsOf(c, ctx)
  const { verb, raw, run } = await authoriseAndPrepare(ctx, endpoint, c, params)
  if (endpoint.throttled) runtime.limits.countStart(ctx, params.worldId ?? '')
  const key = endpoint.idempotent ? c.req.header('idempotency-key') : undefined
  const idempotency = parseIdempotencyKey(key, endpoint, [ctx.organizationId, ctx.projectId], raw)
  const reply = await run({ ...ctx, idempotency, verb })
  const headers = { ...reply.headers, ...(idempotency?.replayed && { 'idempotency-replayed': 'true' }) }
  const { status } = endpoint
  if (reply.body === undefined) return answer(c, null, { status, headers })
  return answer(c, JSON.stringify(reply.body), { status, headers: { ...headers, 'content-type': 'application/json' } })
}

/** Checks permissions, then reads and parses the input. */
const authoriseAndPrepare = async (
  ctx: Context,
  endpoint: Endpoint,
  c: HonoContext<Env>,
  params: Record<string, string>,
): Promise<Prepared & { verb: Verb | undefined }> => {
  const [where, needed] = endpoint.needs ?? []
  const scope = where && resolveScope(where, ctx, params)
  try {
    const verb = scope && needed && authorise(ctx, pathTo(scope), needed, { subtree: endpoint.subtree === true })
    authoriseCall(ctx.principal, endpoint)
    return { verb, ...(await prepare(c, endpoint, params)) }
  } catch (error) {
    if (isClientError(error) && scope && !(await targetExists(ctx, endpoint, scope, params))) throw notFound()
    throw error
  }
}

const isClientError = (error: unknown): boolean => error instanceof Problem && error.status < 500

type Prepared = { raw: RawInput; run: (ctx: Context) => Promise<Reply<unknown>> }

/** Reads and parses the input. Throws a problem that lists the validation errors. */
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

/** Returns the query parameters. A repeated parameter is an array. */
const queryOf = (c: HonoContext<Env>): RawInput['query'] =>
  Object.fromEntries(
    Object.entries(c.req.queries()).map(([name, values]) => [name, values.length === 1 ? (values[0] ?? '') : values]),
  )

const scopeOf = (c: HonoContext<Env>, scope: Scope): ScopeIds & { faults: InputFault[] } => {
  const read = (header: string, isRead: boolean): string => (isRead ? (c.req.header(header) ?? '') : '')
  const organizationId = read(organizationHeader, scope !== 'none')
  const projectId = read(projectHeader, scope !== 'none' && scope !== 'organization')
  const worldId = read(worldHeader, scope === 'organization?project?world')
  const missing = [
    ...(organizationId === '' && (projectId !== '' || (scope !== 'none' && scope !== 'optional'))
      ? [organizationHeader]
      : []),
    ...(scope === 'project' && projectId === '' ? [projectHeader] : []),
  ]
  const faults = missing.map((path) => ({ path, message: 'required header' }))
  return { organizationId, projectId, worldId, faults }
}

/** The path parameters that are ids, with the kind of the id. */
export const idParams: Partial<Record<string, IdKind>> = {
  organizationId: 'organization',
  worldId: 'world',
  botDeploymentId: 'bot',
  apiKeyId: 'apiKey',
  tokenId: 'token',
}

/** Returns the path parameters. A malformed id is a 404, and so is an organization other than that of the header. */
const paramsOf = (c: HonoContext<Env>, ctx: Context): Record<string, string> => {
  const params: Record<string, string> = c.req.param()
  const areParamsValid = Object.entries(params).every(([name, value]) => {
    const kind = idParams[name]
    return kind === undefined ? isStorable(value) : isId(kind, value)
  })
  const areHeadersValid =
    (ctx.organizationId === '' || isId('organization', ctx.organizationId)) &&
    (ctx.projectId === '' || isId('project', ctx.projectId)) &&
    (ctx.worldId === '' || isId('world', ctx.worldId))
  const isSameOrganization = params.organizationId === undefined || params.organizationId === ctx.organizationId
  if (!areParamsValid || !areHeadersValid || !isSameOrganization) throw notFound()
  return params
}

const resolveScope = (
  where: ScopeKind | ScopeResolver,
  ctx: Context,
  params: Readonly<Record<string, string>>,
): ScopeRef => {
  if (typeof where === 'function') return where(ctx, params)
  const { organizationId, projectId } = ctx
  return { kind: where, organizationId, projectId, worldId: params.worldId ?? '' }
}

const pathTo = ({ kind, organizationId, projectId, worldId }: ScopeRef): string =>
  pathOf(organizationId, kind === 'organization' ? undefined : projectId, kind === 'world' ? worldId : undefined)

const targetExists = async (
  ctx: Context,
  { exists }: Endpoint,
  { kind, ...ids }: ScopeRef,
  params: Readonly<Record<string, string>>,
): Promise<boolean> => (await ctx.scopeExists(kind, ids)) && (exists === undefined || (await exists(ctx, params)))
