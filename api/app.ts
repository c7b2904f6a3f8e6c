import { randomUUID } from 'node:crypto'
import { OpenAPIHono } from '@hono/zod-openapi'
import { matchedRoutes } from 'hono/route'
import { getPath } from 'hono/utils/url'
import type { Registry } from 'prom-client'
import { createAuthenticator } from './auth/principal.ts'
import { createScopeLookup } from './auth/service.ts'
import { limitBody } from './body.ts'
import type { Deps } from './context.ts'
import { Problem, toProblem, toResponse } from './errors.ts'
import { createHttpMetrics } from './metrics.ts'
import type { Env } from './openapi.ts'
import { organizationRoutes } from './organizations/routes.ts'
import { projectRoutes } from './projects/routes.ts'
import { worldRoutes } from './worlds/routes.ts'

const documentPath = '/api/openapi.json'
const safeRequestId = /^[A-Za-z0-9._-]{1,64}$/

/** Everything that the API's routes need from the process. */
export type AppOptions = {
  readonly deps: Deps
  readonly rootApiKey: string
  readonly registry: Registry
  /** Whether the process can do its work now; asked by /readyz. */
  readonly ready: () => Promise<boolean>
}

/** The API as one Hono application. */
export const createApp = ({ deps, rootApiKey, registry, ready }: AppOptions) => {
  const app = new OpenAPIHono<Env>({ getPath: withSlash })
  const principalOf = createAuthenticator(rootApiKey)
  const scopeExists = createScopeLookup(deps.db)
  const metrics = createHttpMetrics(registry)

  app.use(async (c, next) => {
    const startedMs = deps.clock.monotonic()
    const given = c.req.header('x-request-id')
    const requestId = given !== undefined && safeRequestId.test(given) ? given : randomUUID()
    c.set('requestId', requestId)
    c.set('scopeExists', scopeExists)
    c.set('authenticate', (ids) => ({ ...deps, ...ids, principal: principalOf(c.req.header('x-api-key')) }))
    // Headers that are set before the answer exists cost nothing; after it, the answer is copied for each.
    c.header('x-request-id', requestId)
    c.header('x-content-type-options', 'nosniff')
    c.header('cache-control', 'no-store')
    await next()
    const route = matchedRoutes(c).findLast(({ path }) => path !== '/*')?.path ?? 'unmatched'
    const durationMs = deps.clock.monotonic() - startedMs
    metrics.observe({ method: c.req.method, route, status: c.res.status }, durationMs / 1000)
    const context = c.get('context')
    deps.log[c.res.status >= 500 ? 'error' : 'info'](
      {
        requestId,
        method: c.req.method,
        route,
        status: c.res.status,
        durationMs: Math.round(durationMs * 10) / 10,
        ...(context ? { principal: context.principal.id, organizationId: context.organizationId } : {}),
        ...(c.error ? { error: describe(c.error) } : {}),
      },
      'request',
    )
  })
  app.use('/api/*', limitBody)
  app.onError((error, c) => toResponse(toProblem(error), c.get('requestId')))
  app.notFound((c) => {
    const allow = methodsOf(app, c.req.path)
    const problem =
      allow.length > 0
        ? new Problem('method_not_allowed', `Served here: ${allow.join(', ')}.`, {
            headers: { allow: allow.join(', ') },
          })
        : new Problem('not_found', 'No route has this path; /api/openapi.json lists them all.')
    return toResponse(problem, c.get('requestId'))
  })

  app.get('/livez', (c) => c.text('ok\n'))
  app.get('/readyz', async (c) => ((await ready()) ? c.text('ok\n') : c.text('the database does not answer\n', 503)))
  app.route('/', organizationRoutes)
  app.route('/', projectRoutes)
  app.route('/', worldRoutes)
  app.openAPIRegistry.registerComponent('securitySchemes', 'apiKey', {
    type: 'apiKey',
    in: 'header',
    name: 'x-api-key',
  })
  app.doc31(documentPath, {
    openapi: '3.1.0',
    info: {
      title: 'Orrery',
      version: '0.1.0',
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
  })
  return app
}

/** Both slash forms are served: routes have the trailing slash of the contract, and a request without gets it here. */
const withSlash = (request: Request): string => {
  const path = getPath(request)
  return path.endsWith('/') || path === documentPath || !path.startsWith('/api/') ? path : `${path}/`
}

/** An unexpected fault is logged with its cause; one that was told to the client needs no stack. */
const describe = (error: Error): string => {
  const problem = toProblem(error)
  if (problem.status < 500) return problem.code
  const cause = error.cause instanceof Error ? `\ncaused by ${error.cause.message}` : ''
  return `${error.stack ?? error.message}${cause}`
}

/** The methods of the routes whose path this is, with or without the trailing slash. */
const methodsOf = (app: OpenAPIHono<Env>, path: string): string[] => {
  const parts = path.replace(/\/$/, '').split('/')
  const fits = (pattern: string): boolean => {
    const steps = pattern.replace(/\/$/, '').split('/')
    return steps.length === parts.length && steps.every((step, at) => step.startsWith(':') || step === parts[at])
  }
  const methods = app.routes.filter((route) => route.method !== 'ALL' && fits(route.path)).map((route) => route.method)
  return [...new Set(methods)].sort()
}
