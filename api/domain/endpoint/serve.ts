import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context as HonoContext } from 'hono'
import { authorise, authoriseCall, authoriseListing, refusalOfCredential } from '#api/domain/access/authorise.ts'
import type { Context, Deps } from '#api/domain/access/context.ts'
import {
  organizationHeader,
  projectHeader,
  type ScopeIds,
  type ScopeKind,
  type ScopeRef,
  worldHeader,
} from '#api/domain/access/scope.ts'
import { type Credential, type CredentialHeader, credentialHeaderOf } from '#api/platform/auth/authenticate.ts'
import type { Principal } from '#api/platform/auth/principal.ts'
import type { Lease } from '#api/platform/fairness/budget.ts'
import { answer } from '#api/platform/http/answer.ts'
import {
  type BodyReader,
  maxJsonBytes,
  maxUploadBytes,
  multipartOverheadBytes,
  readJson,
} from '#api/platform/http/body.ts'
import { type Conditions, entityTag, isUnmodified } from '#api/platform/http/entityTag.ts'
import { holdOrRefuse } from '#api/platform/http/inFlight.ts'
import { toJsonText } from '#api/platform/http/jsonText.ts'
import { nextPageLink } from '#api/platform/http/page.ts'
import { type InputFault, notFound, Problem } from '#api/platform/http/problem.ts'
import { readPicture } from '#api/platform/http/upload.ts'
import { parseIdempotencyKey } from '#api/platform/idempotency/key.ts'
import { pathOf, type Verb } from '#shared/domain/permissions.ts'
import { type IdKind, isId } from '#shared/ids.ts'
import { idNameOf, kindList } from '#shared/resources/group.ts'
import { isStorable } from '#shared/storable.ts'
import type { Upgrade } from './admission.ts'
import { checkInTransaction } from './conditions.ts'
import { credentialOf, type Endpoint, type RawInput, type Reply, type Scope, type ScopeResolver } from './endpoint.ts'
import type { RateLimits } from './rateLimit.ts'
import { auditRequest, createRecordAudit } from './trail.ts'

/**
 * Per-request state. The server sets `upgrade` for a WebSocket handshake. Middleware sets the variables: `headers` are
 * added to every response, and `upgraded` is set by the route that accepts the WebSocket.
 */
export type Env = {
  Bindings: { incoming?: IncomingMessage; outgoing?: ServerResponse; upgrade?: Upgrade }
  Variables: {
    requestId: string
    headers: Record<string, string>
    caller: Caller
    /** Ends when the response has been sent. */
    lease?: Lease
    upgraded?: boolean
    traceparent?: string | undefined
    /** The limit of the request's body. */
    maxBodyBytes?: number
  }
}

/** The part of a request's context that the log shows. */
type Caller = Pick<Context, 'principal' | 'organizationId'>

/** The dependencies of `serve`. */
export type Runtime = {
  readonly deps: Deps
  /** Authenticates a request by its headers, or by `header` instead. */
  readonly authenticate: (
    c: HonoContext<Env>,
    accepted: Credential,
    header?: CredentialHeader | undefined,
  ) => Promise<Principal>
  readonly limits: RateLimits
  /** Returns the client address of a request. */
  readonly addressOf: (c: HonoContext<Env>) => string
}

/**
 * Serves one endpoint. The order of the checks is always: credential, rate, headers, scope (404), permission (403), input
 * (400, 413, 415). Before a 4xx is sent, the scope is looked up: if it does not exist, the answer is 404. So another
 * tenant's scope and an absent one look the same. For a valid request, only an organization or the scope of an upload is looked up: the
 * service functions of projects and worlds read the row of their scope anyway.
 */
export const serve = async (runtime: Runtime, endpoint: Endpoint, c: HonoContext<Env>): Promise<Response> => {
  c.set('maxBodyBytes', endpoint.upload ? maxUploadBytes + multipartOverheadBytes : maxJsonBytes)
  const principal = await runtime.authenticate(c, credentialOf(endpoint))
  const { faults, ...ids } = scopeOf(c, endpoint.scope ?? 'none')
  const countStart: Context['countStart'] = (projectId, worldId) =>
    runtime.limits.countStart({ principal, organizationId: ids.organizationId, projectId }, worldId)
  const countDocumentBytes: Context['countDocumentBytes'] = (bytes) =>
    runtime.limits.countDocumentBytes({ principal, organizationId: ids.organizationId }, bytes)
  const countRestoredBytes: Context['countRestoredBytes'] = (bytes) =>
    runtime.limits.countRestoredBytes({ principal, organizationId: ids.organizationId }, bytes)
  const traceparent = c.get('traceparent')
  const request = { address: runtime.addressOf(c), requestId: c.get('requestId') }
  const lease = openLease(runtime, c, principal)
  const ctx: Context = {
    ...runtime.deps,
    ...ids,
    principal,
    credentialHeader: () => credentialHeaderOf(c),
    lease,
    idempotency: undefined,
    checkConditions: async () => undefined,
    verb: undefined,
    countStart,
    countDocumentBytes,
    countRestoredBytes,
    countSignIn: (kind, issuer) => runtime.limits.countSignIn(kind, request.address, issuer),
    traceparent,
    recordAudit: createRecordAudit(() => ctx, endpoint, request),
  }
  c.set('caller', ctx)
  Object.assign(c.get('headers'), runtime.limits.countRequest(principal))
  if (faults.length > 0) {
    const names = faults.map(({ path }) => path).join(', ')
    throw new Problem('invalid_request', `The request has no value for the headers ${names}.`, { errors: faults })
  }
  const params = paramsOf(c, ctx)
  const { verb, raw, run } = await authoriseAndPrepare(ctx, endpoint, c, params)
  if (endpoint.throttled) ctx.countStart(ctx.projectId, params.worldId ?? '')
  const key = endpoint.idempotent ? c.req.header('idempotency-key') : undefined
  const idempotency = parseIdempotencyKey(key, endpoint, [ctx.organizationId, ctx.projectId], raw)
  const conditions = { ifMatch: c.req.header('if-match'), ifNoneMatch: c.req.header('if-none-match') }
  const checked = checkInTransaction(ctx, endpoint, params, conditions)
  // The context of a request has many fields, so it is completed in place and not copied.
  const call = Object.assign(ctx, { idempotency, verb }, checked)
  const isAudited = endpoint.method !== 'get' && !endpoint.auditsItself
  const runCall = async () => {
    // Checked here too, so that a refused upload is not stored.
    if (endpoint.upload && checked) await runtime.deps.db.transaction(checked.checkConditions)
    return run(isAudited ? auditRequest(call, endpoint, raw, request.address) : call)
  }
  const reply = await (endpoint.sharesItself ? runCall() : runInShare(call, runCall))
  const headers = {
    ...reply.headers,
    ...nextPageLink(c.req.path, knownQuery(endpoint, raw.query), reply.next),
    ...(idempotency?.replayed && { 'idempotency-replayed': 'true' }),
  }
  return respond(c, endpoint, { reply: { ...reply, headers }, conditions, lease })
}

const respond = async (
  c: HonoContext<Env>,
  { method, status }: Endpoint,
  { reply, conditions, lease }: { reply: Reply<unknown>; conditions: Conditions; lease: Lease },
): Promise<Response> => {
  const { headers, revision } = reply
  if (reply.stream !== undefined) {
    const { body, contentType } = reply.stream
    return answer(c, body, { status, headers: { ...headers, 'content-type': contentType } })
  }
  if (reply.body === undefined) return answer(c, null, { status, headers })
  const text = await toJsonText(reply.body)
  const etag = revision === undefined ? undefined : entityTag(revision, text)
  const tagged = etag === undefined ? headers : { ...headers, etag }
  // A change is committed by now, so its response is sent even if it does not fit. It has one resource, or the results of one action.
  if (method === 'get') {
    if (etag !== undefined && isUnmodified(conditions, etag)) return answer(c, null, { status: 304, headers: tagged })
    lease.keep(text.length)
    holdOrRefuse(lease, text.length)
  }
  return answer(c, text, { status, headers: { ...tagged, 'content-type': 'application/json' } })
}

/**
 * Opens the lease of a request, in the share of its organization or of its address. The platform key has no share of its own. The
 * middleware ends the lease.
 */
export const openLease = (
  { deps }: Pick<Runtime, 'deps'>,
  c: HonoContext<Env>,
  { organizationId, kind, bucket }: Principal,
): Lease => {
  const lease = deps.inFlight.open(organizationId ?? (kind === 'anonymous' ? bucket : undefined))
  c.set('lease', lease)
  return lease
}

/**
 * Runs a request, which uses one database connection at a time, in the share of its credential's organization. Requests with the
 * platform key have their own share, and so do requests without a credential. Throws a 429 if too many wait.
 */
export const runInShare = <T>({ principal, runRequest }: Context, run: () => Promise<T>): Promise<T> => {
  const { organizationId, kind } = principal
  const [share, whose] =
    organizationId === undefined
      ? sharesWithoutOrganization[kind === 'anonymous' ? kind : 'platform']
      : [organizationId, 'of the organization']
  const refuse = (): Problem => {
    const detail = `Too many requests ${whose} are in progress. Retry after the time in Retry-After.`
    return new Problem('rate_limited', detail, { headers: { 'retry-after': '2' } })
  }
  return runRequest(share, run, refuse)
}

/** The shares of requests without an organization: the id, and the words for it in the problem. No organization has such an id. */
const sharesWithoutOrganization = {
  platform: ['platform', 'of the platform key'],
  anonymous: ['anonymous', 'without a credential'],
} as const

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
    const refusal = refusalOfCredential(ctx.principal, credentialOf(endpoint))
    // A credential without access to the scope gets a 404, before its kind is refused.
    const verb =
      scope && needed && authorise(ctx, pathTo(scope), refusal ? 'r' : needed, { subtree: endpoint.subtree === true })
    if (refusal) throw refusal
    authoriseCall(ctx.principal, endpoint)
    if (endpoint.listing) authoriseListing(ctx)
    // Service functions of projects and worlds read the row of their scope. Some functions of organizations do not, and an upload is
    // stored before its row is read.
    const mustExist = endpoint.upload || (scope?.kind === 'organization' && !endpoint.actsOnDeleted)
    if (scope && mustExist && !(await runInShare(ctx, () => scopeExists(ctx, scope)))) throw notFound()
    const prepared = await prepare(ctx, c, endpoint, params)
    if (endpoint.streams === undefined || c.req.method !== 'HEAD') return { verb, ...prepared }
    // A HEAD does not run the handler, which would find out whether the target exists.
    if (scope && !(await runInShare(ctx, () => targetExists(ctx, endpoint, scope, params)))) throw notFound()
    return { verb, ...prepared, run: async () => ({}) }
  } catch (error) {
    if (!isClientError(error) || scope === undefined) throw error
    if (await runInShare(ctx, () => targetExists(ctx, endpoint, scope, params))) throw error
    throw notFound()
  }
}

const isClientError = (error: unknown): boolean => error instanceof Problem && error.status < 500

/** Returns the parameters of a request that its endpoint declares. Others are not repeated in the link to the next page. */
const knownQuery = ({ query }: Endpoint, given: RawInput['query']): RawInput['query'] =>
  Object.fromEntries(Object.entries(given).filter(([name]) => Object.hasOwn(query?.shape ?? {}, name)))

type Prepared = { raw: RawInput; run: (ctx: Context) => Promise<Reply<unknown>> }

/** Reads and parses the input. Throws a problem that lists the validation errors. */
const prepare = async (
  body: BodyReader,
  c: HonoContext<Env>,
  endpoint: Endpoint,
  params: Record<string, string>,
): Promise<Prepared> => {
  const raw: RawInput = {
    params,
    query: endpoint.query ? queryOf(c) : {},
    body: endpoint.upload
      ? await readPicture(c.req.raw, body)
      : endpoint.body
        ? await readJson(c.req.raw, body, endpoint)
        : undefined,
    accept: endpoint.streams ? c.req.header('accept') : undefined,
    isHead: c.req.method === 'HEAD',
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
    ...(organizationId === '' && scope !== 'none' && scope !== 'optional' ? [organizationHeader] : []),
    ...(scope === 'project' && projectId === '' ? [projectHeader] : []),
  ]
  const faults = missing.map((path) => ({ path, message: 'required header' }))
  return { organizationId, projectId, worldId, faults }
}

/** The path parameters that are ids, with the kind of the id. */
export const idParams: Readonly<Record<string, IdKind>> = {
  organizationId: 'organization',
  projectId: 'project',
  ...Object.fromEntries(kindList.map((kind) => [idNameOf(kind), kind])),
  apiKeyId: 'apiKey',
  webhookId: 'webhook',
  deliveryId: 'delivery',
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
  const { organizationId } = ctx
  return { kind: where, organizationId, projectId: params.projectId ?? ctx.projectId, worldId: params.worldId ?? '' }
}

const pathTo = ({ kind, organizationId, projectId, worldId }: ScopeRef): string =>
  pathOf(organizationId, kind === 'organization' ? undefined : projectId, kind === 'world' ? worldId : undefined)

const targetExists = async (
  ctx: Context,
  { exists }: Endpoint,
  scope: ScopeRef,
  params: Readonly<Record<string, string>>,
): Promise<boolean> => (await scopeExists(ctx, scope)) && (exists === undefined || (await exists(ctx, params)))

const scopeExists = (ctx: Context, { kind, ...ids }: ScopeRef): Promise<boolean> => ctx.scopeExists(kind, ids)
