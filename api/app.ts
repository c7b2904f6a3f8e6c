import { randomUUID } from 'node:crypto'
import { Hono, type Context as HonoContext } from 'hono'
import { routePath } from 'hono/route'
import { getPath } from 'hono/utils/url'
import type { Registry } from 'prom-client'
import { parseTraceparent } from '#shared/tracing/traceparent.ts'
import { apiDocument } from './document.ts'
import { platform } from './domain/access/claims.ts'
import type { Deps } from './domain/access/context.ts'
import { organizationHeader, projectHeader, worldHeader } from './domain/access/scope.ts'
import type { RateLimitOptions } from './domain/endpoint/rateLimit.ts'
import { createRateLimits } from './domain/endpoint/rateLimit.ts'
import { type Env, openLease, serve } from './domain/endpoint/serve.ts'
import { serveFile } from './domain/pictures/files.ts'
import { endpoints } from './endpoints.ts'
import { createAuthenticator } from './platform/auth/authenticate.ts'
import { anonymous, type Principal } from './platform/auth/principal.ts'
import { type AnswerHeaders, answer } from './platform/http/answer.ts'
import type { ClientAddress } from './platform/http/clientAddress.ts'
import { type ConsoleFiles, consolePath, serveConsole } from './platform/http/console.ts'
import { createCors } from './platform/http/cors.ts'
import { endWithResponse } from './platform/http/inFlight.ts'
import { closeAfterAnswer } from './platform/http/linger.ts'
import { createHttpMetrics, observeInFlight } from './platform/http/metrics.ts'
import { Problem, problemResponse, toProblem } from './platform/http/problem.ts'
import { referencePage } from './platform/http/reference.ts'
import { endRequestSpan, isFailure, type RequestTracing, startRequestSpan } from './platform/http/requestSpan.ts'
import { platformKeyIdOf } from './platform/secrets/apiKey.ts'
import { asyncApiDocument } from './realtime/asyncApi.ts'
import { type ConnectOptions, connect } from './realtime/connect.ts'

const documentPath = '/api/openapi.json'
const asyncApiPath = '/api/asyncapi.json'
const docsPath = '/api/docs/'
const safeRequestId = /^[A-Za-z0-9._-]{1,64}$/

/** The dependencies of the API's routes. */
export type AppOptions = {
  readonly deps: Deps
  readonly rootApiKey: string
  /** A second platform key, valid while the first is introduced. */
  readonly previousRootApiKey?: string | undefined
  readonly verifyToken: (token: string) => Promise<Principal | undefined>
  readonly rateLimits: RateLimitOptions
  readonly allowedOrigins: readonly string[]
  readonly registry: Registry
  readonly projectOfWorld: ConnectOptions['projectOfWorld']
  readonly clientAddress: ClientAddress
  readonly requestTracing: RequestTracing
  /** The files of the console, or undefined if it is off. */
  readonly consoleFiles: ConsoleFiles | undefined
  /** Reports whether the database can be reached. It decides the status of /readyz. */
  readonly isReady: () => Promise<boolean>
}

/** Returns the API as a Hono application: the endpoints, the OpenAPI document, pictures, realtime, the console and the probes. */
export const createApp = (options: AppOptions) => {
  const { deps, registry } = options
  const app = new Hono<Env>({ getPath: pathWithSlash })
  const { rootApiKey, previousRootApiKey, verifyToken: verify } = options
  const limits = createRateLimits(deps.clock, options.rateLimits, deps.cachedLimits)
  const addressOf = (c: HonoContext<Env>): string => (c.env?.incoming ? options.clientAddress(c.env.incoming) : '')
  const authenticate = createAuthenticator({
    rootApiKey,
    previousRootApiKey,
    platform,
    platformKeyIdOf: (key) => platformKeyIdOf(key, deps.peppers[0]),
    keys: deps.keys,
    verify,
    addressOf,
    onUse: deps.keyUsage.note,
    countFailure: limits.countFailure,
  })
  observeInFlight(registry, deps.inFlight)
  const runtime = { deps, authenticate, limits, addressOf }
  /** Applies the limits of a client address to a request that needs no credential. */
  const limitByAddress = (c: HonoContext<Env>): void => {
    const caller = anonymous(addressOf(c))
    Object.assign(c.get('headers'), limits.countRequest(caller))
    openLease(runtime, c, caller)
  }
  const metrics = createHttpMetrics(registry)
  const cors = createCors(options.allowedOrigins, [organizationHeader, projectHeader, worldHeader])
  const security = securityHeaders(deps.publicUrl)

  app.use(async (c, next) => {
    const startedMs = deps.clock.monotonic()
    const clientRequestId = c.req.header('x-request-id') ?? ''
    const requestId = safeRequestId.test(clientRequestId) ? clientRequestId : randomUUID()
    c.set('requestId', requestId)
    c.set('headers', { 'x-request-id': requestId, ...security })
    const span = startRequestSpan(options.requestTracing, c.req)
    c.set('traceparent', span.traceparent)
    if (cors(c)) await next()
    const lease = c.get('lease')
    if (lease) endWithResponse(lease, c.env?.outgoing)
    const incoming = c.env?.incoming
    if (incoming !== undefined && !incoming.complete && (mayCarryLargeBody(c) || c.res.status === 408)) {
      c.res.headers.set('connection', 'close')
      closeAfterAnswer(incoming, c.get('maxBodyBytes') ?? maxUnmatchedBytes, deps.clock)
    }
    // The path of the route whose handler ran. It is that of this middleware if no route matched.
    const matchedPath = routePath(c)
    const route = matchedPath === '/*' ? 'unmatched' : matchedPath
    const durationMs = deps.clock.monotonic() - startedMs
    const status = c.get('upgraded') ? 101 : c.res.status
    metrics.observe({ method: c.req.method, route, status }, durationMs / 1000)
    endRequestSpan(span, { method: c.req.method, route, status })
    logRequest(deps, c, { route, status, durationMs })
  })
  app.onError((error, c) => respondWithProblem(c, toProblem(error)))
  app.notFound((c) => {
    const methods = allowedMethods(app, c.req.path)
    // A route with this method exists, but its path differs in the trailing slash.
    return respondWithProblem(c, toRoutingProblem(methods.includes(c.req.method) ? [] : methods))
  })

  addOpenRoutes(app, options, limitByAddress)
  const allowedOrigins = new Set([...options.allowedOrigins, new URL(deps.publicUrl).origin])
  app.get('/api/realtime/connect/', (c) =>
    connect(runtime, { allowedOrigins, projectOfWorld: options.projectOfWorld }, c),
  )
  const withParameters = endpoints.filter(({ path }) => path.includes('{'))
  const fixed = endpoints.filter((endpoint) => !withParameters.includes(endpoint))
  for (const each of fixed) app.on(each.method.toUpperCase(), each.path, (c) => serve(runtime, each, c))
  // Segments such as `current` are never parsed as ids, whatever the method.
  for (const path of new Set(fixed.map((each) => each.path))) {
    app.all(path, () => {
      throw toRoutingProblem(allowedMethods(app, path))
    })
  }
  for (const each of withParameters) {
    const path = each.path.replaceAll(/\{(\w+)\}/g, ':$1')
    app.on(each.method.toUpperCase(), path, (c) => serve(runtime, each, c))
  }
  return app
}

/** Adds the routes without a credential. Those that are not probes have the limits of a client address. */
const addOpenRoutes = (
  app: Hono<Env>,
  { deps, isReady, consoleFiles }: Pick<AppOptions, 'deps' | 'isReady' | 'consoleFiles'>,
  limitByAddress: (c: HonoContext<Env>) => void,
): void => {
  app.get('/livez', (c) => answer(c, 'ok\n', plain))
  app.get('/readyz', async (c) =>
    (await isReady())
      ? answer(c, 'ok\n', plain)
      : answer(c, 'The database does not answer.\n', { ...plain, status: 503 }),
  )
  for (const [path, document] of [
    [documentPath, apiDocument(deps.publicUrl)],
    [asyncApiPath, asyncApiDocument(deps.publicUrl)],
  ] as const) {
    const bytes = Buffer.from(JSON.stringify(document))
    app.get(path, (c) => {
      limitByAddress(c)
      return answer(c, bytes, { headers: { 'content-type': 'application/json' } })
    })
  }
  const redirect = (from: string, location: string) =>
    app.get(from, (c) => answer(c, null, { status: 302, headers: { location } }))
  redirect('/', consoleFiles?.size ? consolePath : docsPath)
  redirect('/api/', docsPath)
  if (consoleFiles !== undefined) {
    redirect('/console', consolePath)
    app.get(`${consolePath}*`, (c) => {
      limitByAddress(c)
      return serveConsole(consoleFiles, c)
    })
  }
  for (const path of [docsPath, `${docsPath}:file/`]) {
    app.get(path, (c) => {
      limitByAddress(c)
      return referencePage(c)
    })
  }
  app.get('/api/files/*', (c) => {
    limitByAddress(c)
    return serveFile(deps.objects, c)
  })
}

/** Returns a 405 with the allowed methods of a path, or a 404 if there are none. */
const toRoutingProblem = (methods: readonly string[]): Problem => {
  const allow = methods.join(', ')
  if (allow === '') return new Problem('not_found', 'No route has this path. /api/openapi.json lists all routes.')
  return new Problem('method_not_allowed', `This path supports ${allow}.`, { headers: { allow } })
}

/** Adds the trailing slash that the paths of all routes have, so that clients may leave it out. */
const pathWithSlash = (request: Request): string => {
  const path = getPath(request)
  return path.endsWith('/') || path === documentPath || path === asyncApiPath || !/^\/api(\/|$)/.test(path)
    ? path
    : `${path}/`
}

const plain = { headers: { 'content-type': 'text/plain; charset=utf-8' } }

const securityHeaders = (publicUrl: string): AnswerHeaders => ({
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  ...(publicUrl.startsWith('https:') && { 'strict-transport-security': 'max-age=31536000; includeSubDomains' }),
})

const respondWithProblem = (c: HonoContext<Env>, problem: Problem): Response => {
  const { body, ...rest } = problemResponse(problem, c.get('requestId'))
  return answer(c, body, rest)
}

/** Unread bodies up to this size do not close the connection: the server reads and discards them. */
const smallBodyBytes = 64 * 1024

/** The bytes that are read of the rest of a refused body where no endpoint has a limit of its own. */
const maxUnmatchedBytes = 256 * 1024

const mayCarryLargeBody = (c: HonoContext<Env>): boolean =>
  c.req.header('transfer-encoding') !== undefined || Number(c.req.header('content-length') ?? 0) > smallBodyBytes

const logRequest = (
  { log }: Deps,
  c: HonoContext<Env>,
  { route, status, durationMs }: { route: string; status: number; durationMs: number },
) => {
  const caller = c.get('caller')
  log[isFailure(status) ? 'error' : 'info'](
    {
      requestId: c.get('requestId'),
      method: c.req.method,
      route,
      status,
      durationMs: Math.round(durationMs * 10) / 10,
      principal: caller?.principal.id,
      organizationId: caller?.organizationId,
      traceId: parseTraceparent(c.get('traceparent'))?.traceId,
      error: c.error && describeError(c.error),
    },
    'request',
  )
}

/**
 * Returns the log text of an error: the problem code if it is no failure, otherwise the stack and the cause. For a failed
 * query it is the SQL text, because the message of drizzle contains the parameters, which may be secrets.
 */
const describeError = (error: Error): string => {
  const problem = toProblem(error)
  if (!isFailure(problem.status)) return problem.code
  const query = 'query' in error ? `Failed query: ${String(error.query)}` : undefined
  const cause = error.cause instanceof Error ? `\ncaused by ${error.cause.message}` : ''
  return `${query ?? error.stack ?? error.message}${cause}`
}

/**
 * Returns the methods of the routes that match a path, with or without its trailing slash. Routes without parameters
 * take precedence.
 */
const allowedMethods = (app: Hono<Env>, path: string): string[] => {
  const parts = path.replace(/\/$/, '').split('/')
  const matches = (pattern: string): boolean => {
    const steps = pattern.replace(/\/$/, '').split('/')
    const hasLength = steps.at(-1) === '*' ? parts.length >= steps.length : parts.length === steps.length
    return hasLength && steps.every((step, at) => step === '*' || step.startsWith(':') || step === parts[at])
  }
  const routes = app.routes.filter((route) => route.method !== 'ALL' && matches(route.path))
  const fixed = routes.filter((route) => !route.path.includes(':'))
  return [...new Set((fixed.length > 0 ? fixed : routes).map((route) => route.method))].sort()
}
