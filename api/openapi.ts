import { z } from '@hono/zod-openapi'
import { createMiddleware } from 'hono/factory'
import type { ScopeDepth } from '#api/auth/service.ts'
import type { Context } from './context.ts'
import { type InputFault, notFound, Problem, pointer } from './errors.ts'

/** What middleware leaves for handlers. */
export type Env = {
  Variables: {
    requestId: string
    /** Makes the request's context of the credential and the scope headers; throws a 401. */
    authenticate: (ids: { organizationId: string; projectId: string }) => Context
    scopeExists: (
      depth: ScopeDepth,
      ids: { organizationId: string; projectId: string; worldId: string },
    ) => Promise<boolean>
    context: Context
  }
}

const problem = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.number(),
    detail: z.string(),
    code: z.string(),
    requestId: z.string(),
    errors: z.array(z.object({ path: z.string(), message: z.string() })).exactOptional(),
  })
  .openapi('Problem')

const descriptions: Record<number, string> = {
  400: 'The request is malformed or invalid; every fault is listed.',
  401: 'No valid credential.',
  403: 'The credential does not permit this.',
  404: 'It does not exist, or is out of reach of the credential and the headers.',
  409: 'The present state does not allow this.',
  412: 'If-Match does not hold.',
  413: 'The body is too large.',
  415: 'The body has a type that is not served.',
  422: 'The build cannot be resolved.',
  500: 'An unexpected fault, with a request id that finds it in the log.',
  503: 'The database is out; try again after Retry-After seconds.',
}

type Scope = 'none' | 'organization' | 'organization?project' | 'project'

/** Headers as the contract names them. */
const organizationHeader = 'x-svc-organization-id'
const projectHeader = 'x-svc-project-id'

/**
 * What every route has in common: its credential, its scope headers and its JSON body. The checks come in one order
 * everywhere: credential, headers, existence of the scope where there is a body, and then the body and the permission.
 */
export const guard = (scope: Scope, options: { body?: true; depth?: ScopeDepth } = {}) => ({
  security: [{ apiKey: [] }],
  middleware: [credential(scope), ...(options.body ? [json(options.depth)] : [])],
})

/** The problems that a route may answer: those of its guard, and those that it names. */
export const problems = (scope: Scope, ...more: (keyof typeof descriptions)[]) => {
  const statuses = [401, 500, 503, ...(scope === 'none' ? [] : [400, 404]), ...more]
  const content = { 'application/problem+json': { schema: problem } }
  return Object.fromEntries(statuses.map((status) => [status, { description: descriptions[status] ?? '', content }]))
}

/** The statuses of a body that is not as it should be. */
export const bodyProblems = [400, 413, 415] as const

/** The scope headers of a route, for its documentation; the guard has checked them by then. */
export const scopeHeaders = (scope: Scope): z.ZodObject => {
  const id = z.string().min(1)
  return z.object({
    ...(scope === 'none' ? {} : { [organizationHeader]: id }),
    ...(scope === 'project' ? { [projectHeader]: id } : {}),
    ...(scope === 'organization?project' ? { [projectHeader]: id.optional() } : {}),
  })
}

/** 401, then 400 for scope headers that are missing. */
const credential = (scope: Scope) =>
  createMiddleware<Env>(async (c, next) => {
    const organizationId = scope === 'none' ? '' : (c.req.header(organizationHeader) ?? '')
    const projectId = scope === 'none' || scope === 'organization' ? '' : (c.req.header(projectHeader) ?? '')
    const context = c.get('authenticate')({ organizationId, projectId })
    const missing = [
      ...(scope !== 'none' && organizationId === '' ? [organizationHeader] : []),
      ...(scope === 'project' && projectId === '' ? [projectHeader] : []),
    ]
    if (missing.length > 0) {
      const errors = missing.map((path) => ({ path, message: 'this header is missing' }))
      throw new Problem('invalid_request', `Headers are missing: ${missing.join(', ')}.`, { errors })
    }
    c.set('context', context)
    await next()
  })

/** 404 for a scope that is not there, before anything is said of the body; then 415. */
const json = (depth: ScopeDepth | undefined) =>
  createMiddleware<Env>(async (c, next) => {
    const { organizationId, projectId } = c.get('context')
    const worldId = c.req.param('worldId') ?? ''
    if (depth && !(await c.get('scopeExists')(depth, { organizationId, projectId, worldId }))) throw notFound()
    const type = c.req.header('content-type') ?? ''
    if (!/^application\/([a-z-]+\+)?json\s*(;|$)/i.test(type)) {
      throw new Problem('unsupported_media_type', 'Send the body as application/json.')
    }
    const body: unknown = await c.req.json().catch(malformed)
    const errors = unsafeKeys(body, '', 0)
    if (errors.length > 0)
      throw new Problem('invalid_request', 'The body has keys that are refused everywhere.', { errors })
    await next()
  })

const malformed = (cause: unknown): never => {
  if (!(cause instanceof SyntaxError)) throw cause
  throw new Problem('malformed_json', 'The body cannot be parsed as JSON (RFC 8259).', { cause })
}

const maxDepth = 32
const refusedKeys = ['__proto__', 'constructor', 'prototype']

/** Keys that reach a prototype in careless code, which validation would drop without a word, and senseless nesting. */
const unsafeKeys = (value: unknown, path: string, depth: number): InputFault[] => {
  if (typeof value !== 'object' || value === null) return []
  if (depth > maxDepth) return [{ path, message: `is nested more than ${maxDepth} deep` }]
  return Object.entries(value).flatMap(([key, inner]) => {
    const at = path + pointer([key])
    return refusedKeys.includes(key) ? [{ path: at, message: 'this key is refused' }] : unsafeKeys(inner, at, depth + 1)
  })
}

/** A JSON body that must be given. */
export const jsonBody = <S extends z.ZodType>(schema: S) => ({
  required: true as const,
  content: { 'application/json': { schema } },
})

/** A JSON answer. */
export const jsonAnswer = <S extends z.ZodType>(schema: S, description: string) => ({
  200: { description, content: { 'application/json': { schema } } },
})

/** An answer without a body. */
export const emptyAnswer = { 200: { description: 'Done.' } }
