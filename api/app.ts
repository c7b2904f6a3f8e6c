import { randomUUID } from 'node:crypto'
import { Hono, type Context as HonoContext } from 'hono'
import { routePath } from 'hono/route'
import { getPath } from 'hono/utils/url'
import type { Registry } from 'prom-client'
import { platform } from './domain/access/claims.ts'
import type { Deps } from './domain/access/context.ts'
import { organizationHeader, projectHeader, worldHeader } from './domain/access/scope.ts'
import { openApiDocument } from './domain/endpoint/document.ts'
import type { RateLimitOptions } from './domain/endpoint/rateLimit.ts'
import { createRateLimits } from './domain/endpoint/rateLimit.ts'
import { type Env, serve } from './domain/endpoint/serve.ts'
import { serveFile } from './domain/pictures/files.ts'
import { endpoints } from './endpoints.ts'
import { createAuthenticator } from './platform/auth/authenticate.ts'
import type { Principal } from './platform/auth/principal.ts'
import { type AnswerHeaders, answer } from './platform/http/answer.ts'
import type { ClientAddress } from './platform/http/clientAddress.ts'
import { createCors } from './platform/http/cors.ts'
import { closeAfterAnswer } from './platform/http/linger.ts'
import { createHttpMetrics } from './platform/http/metrics.ts'
import { Problem, problemResponse, toProblem } from './platform/http/problem.ts'
import { referencePage } from './platform/http/reference.ts'
import { type ConnectOptions, connect } from './realtime/connect.ts'

const documentPath = '/api/openapi.json'
const safeRequestId = /^[A-Za-z0-9._-]{1,64}$/

/** Everything that the API's routes need from the process. */
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
  /** Whether the process can do its work now; asked by /readyz. */
  readonly ready: () => Promise<boolean>
}

/** The API as one Hono application. */
export const createApp = (options: AppOptions) => {
  const { deps, registry, ready } = options
  const app = new Hono<Env>({ getPath: withSlash })
  const { rootApiKey, previousRootApiKey, verifyToken: verify } = options
  const limits = createRateLimits(deps.clock, options.rateLimits)
  const addressOf = (c: HonoContext<Env>): string => (c.env?.incoming ? options.clientAddress(c.env.incoming) : '')
  const authenticate = createAuthenticator({
    ...{ rootApiKey, previousRootApiKey, platform, keys: deps.keys, verify, addressOf },
    onUse: deps.keyUsage.note,
    countFailure: limits.takeForFailure,
  })
  const runtime = { deps, authenticate, limits }
  const metrics = createHttpMetrics(registry)
  const cors = createCors(options.allowedOrigins, [organizationHeader, projectHeader, worldHeader])
  const security = securityHeaders(deps.publicUrl)

  app.use(async (c, next) => {
    const startedMs = deps.clock.monotonic()
    const given = c.req.header('x-request-id')
    const requestId = given !== undefined && safeRequestId.test(given) ? given : randomUUID()
    c.set('requestId', requestId)
    c.set('headers', { 'x-request-id': requestId, ...security })
    if (cors(c)) await next()
    const incoming = c.env?.incoming
    if (incoming !== undefined && !incoming.complete && mayCarryLargeBody(c)) {
      c.res.headers.set('connection', 'close')
      closeAfterAnswer(incoming, deps.clock)
    }
    // The route that ran, which need not be the last one that fits; this middleware itself where none did.
    const ran = routePath(c)
    const route = ran === '/*' ? 'unmatched' : ran
    const durationMs = deps.clock.monotonic() - startedMs
    const status = c.get('upgraded') ? 101 : c.res.status
    metrics.observe({ method: c.req.method, route, status }, durationMs / 1000)
    logRequest(deps, c, { route, status, durationMs })
  })
  app.onError((error, c) => refuse(c, toProblem(error)))
  app.notFound((c) => {
    const served = methodsOf(app, c.req.path)
    // The path of a route that serves this method, but for a slash.
    return refuse(c, notServed(served.includes(c.req.method) ? [] : served))
  })

  app.get('/livez', (c) => answer(c, 'ok\n', plain))
  app.get('/readyz', async (c) =>
    (await ready()) ? answer(c, 'ok\n', plain) : answer(c, 'the database does not answer\n', { ...plain, status: 503 }),
  )
  const document = JSON.stringify(openApiDocument(endpoints))
  app.get(documentPath, (c) => answer(c, document, { headers: { 'content-type': 'application/json' } }))
  app.get('/api/docs/', referencePage)
  app.get('/api/docs/:file/', referencePage)
  app.get('/api/files/*', (c) => serveFile(deps.objects, c))
  const mayConnect = new Set([...options.allowedOrigins, new URL(deps.publicUrl).origin])
  const connecting = { allowedOrigins: mayConnect, projectOfWorld: options.projectOfWorld }
  app.get('/api/realtime/connect/', (c) => connect(runtime, connecting, c))
  const withParameters = endpoints.filter(({ path }) => path.includes('{'))
  const fixed = endpoints.filter((endpoint) => !withParameters.includes(endpoint))
  for (const each of fixed) app.on(each.method.toUpperCase(), each.path, (c) => serve(runtime, each, c))
  // A name such as `current` is never taken for an id, whatever the method.
  for (const path of new Set(fixed.map((each) => each.path))) {
    app.all(path, () => {
      throw notServed(methodsOf(app, path))
    })
  }
  for (const each of withParameters) {
    const path = each.path.replaceAll(/\{(\w+)\}/g, ':$1')
    app.on(each.method.toUpperCase(), path, (c) => serve(runtime, each, c))
  }
  return app
}

const notServed = (served: readonly string[]): Problem => {
  const allow = served.join(', ')
  if (allow === '') return new Problem('not_found', 'No route has this path; /api/openapi.json lists them all.')
  return new Problem('method_not_allowed', `Served here: ${allow}.`, { headers: { allow } })
}

/** Both slash forms are served: routes have the trailing slash of the contract, and a request without gets it here. */
const withSlash = (request: Request): string => {
  const path = getPath(request)
  return path.endsWith('/') || path === documentPath || !path.startsWith('/api/') ? path : `${path}/`
}

const plain = { headers: { 'content-type': 'text/plain; charset=utf-8' } }

const securityHeaders = (publicUrl: string): AnswerHeaders => ({
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  ...(publicUrl.startsWith('https:') && { 'strict-transport-security': 'max-age=31536000; includeSubDomains' }),
})

const refuse = (c: HonoContext<Env>, problem: Problem): Response => {
  const { body, ...rest } = problemResponse(problem, c.get('requestId'))
  return answer(c, body, rest)
}

/** A body that is not worth a connection: the server reads it away, and ends the connection if it does not come at once. */
const smallBodyBytes = 64 * 1024

const mayCarryLargeBody = (c: HonoContext<Env>): boolean =>
  c.req.header('transfer-encoding') !== undefined || Number(c.req.header('content-length') ?? 0) > smallBodyBytes

const logRequest = (
  { log }: Deps,
  c: HonoContext<Env>,
  { route, status, durationMs }: { route: string; status: number; durationMs: number },
) => {
  const context = c.get('context')
  log[status >= 500 ? 'error' : 'info'](
    {
      requestId: c.get('requestId'),
      method: c.req.method,
      route,
      status,
      durationMs: Math.round(durationMs * 10) / 10,
      ...(context ? { principal: context.principal.id, organizationId: context.organizationId } : {}),
      ...(c.error ? { error: describe(c.error) } : {}),
    },
    'request',
  )
}

/**
 * An unexpected fault is logged with its cause; one that was told to the client needs no stack. A failed query is told
 * by its text alone: its parameters may be secrets, and drizzle puts them into the message.
 */
const describe = (error: Error): string => {
  const problem = toProblem(error)
  if (problem.status < 500) return problem.code
  const query = 'query' in error ? `Failed query: ${String(error.query)}` : undefined
  const cause = error.cause instanceof Error ? `\ncaused by ${error.cause.message}` : ''
  return `${query ?? error.stack ?? error.message}${cause}`
}

/** The methods of the routes whose path this is, with or without the trailing slash; its own name goes before an id. */
const methodsOf = (app: Hono<Env>, path: string): string[] => {
  const parts = path.replace(/\/$/, '').split('/')
  const fits = (pattern: string): boolean => {
    const steps = pattern.replace(/\/$/, '').split('/')
    const isLong = steps.at(-1) === '*' ? parts.length >= steps.length : parts.length === steps.length
    return isLong && steps.every((step, at) => step === '*' || step.startsWith(':') || step === parts[at])
  }
  const found = app.routes.filter((route) => route.method !== 'ALL' && fits(route.path))
  const named = found.filter((route) => !route.path.includes(':'))
  return [...new Set((named.length > 0 ? named : found).map((route) => route.method))].sort()
}
