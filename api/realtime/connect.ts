import type { Context as HonoContext } from 'hono'
import { pathOf } from '#api/domain/access/authorise.ts'
import { organizationHeader, projectHeader, type ScopeIds, worldHeader } from '#api/domain/access/scope.ts'
import type { Env, Runtime } from '#api/domain/endpoint/serve.ts'
import type { Principal } from '#api/platform/auth/principal.ts'
import { answer } from '#api/platform/http/answer.ts'
import { notFound, Problem } from '#api/platform/http/problem.ts'
import { isId } from '#shared/ids.ts'
import { mayRead } from './topic.ts'

/** The dependencies of the realtime route. */
export type ConnectOptions = {
  /** Origins whose pages may connect, that of the API among them. */
  readonly allowedOrigins: ReadonlySet<string>
  readonly projectOfWorld: (ids: { organizationId: string; worldId: string }) => Promise<string | undefined>
}

/**
 * Decides about an upgrade before it is answered. The order of the checks is that of all routes: credential, rate,
 * headers, scope (404, also where the credential has no verb on it), origin (403), places (429). A request that is no
 * upgrade is checked alike, so that a page, which does not see why its upgrade was refused, can ask: 426 is no refusal.
 */
export const connect = async (runtime: Runtime, options: ConnectOptions, c: HonoContext<Env>): Promise<Response> => {
  const upgrade = c.env?.upgrade
  if (upgrade?.fault !== undefined) throw invalidHeader('sec-websocket-protocol', upgrade.fault)
  const principal = await runtime.authenticate(c, 'keyOrToken')
  runtime.limits.countRequest(principal)
  const scope = await scopeOf(runtime, options, c, principal)
  c.set('context', { ...runtime.deps, ...scope, principal, idempotency: undefined, verb: undefined })
  const origin = c.req.header('origin')
  if (origin !== undefined && !options.allowedOrigins.has(origin)) {
    throw new Problem('forbidden', 'Pages of this origin may not connect.')
  }
  if (upgrade === undefined) {
    throw new Problem('upgrade_required', 'Connect with WebSocket.', { headers: { upgrade: 'websocket' } })
  }
  const authorization = c.req.header('x-api-key') === undefined ? c.req.header('authorization') : undefined
  upgrade.admit({ principal, scope, token: authorization?.replace(/^Bearer +/i, '') })
  c.set('upgraded', true)
  return answer(c, null, { status: 204 })
}

const scopeOf = async (
  { deps }: Runtime,
  { projectOfWorld }: ConnectOptions,
  c: HonoContext<Env>,
  { permissions }: Principal,
): Promise<ScopeIds> => {
  const organizationId = c.req.header(organizationHeader) ?? ''
  const worldId = c.req.header(worldHeader) ?? ''
  const givenProjectId = c.req.header(projectHeader) ?? ''
  if (organizationId === '') throw invalidHeader(organizationHeader, 'is missing')
  const wellFormed =
    isId('organization', organizationId) &&
    (givenProjectId === '' || isId('project', givenProjectId)) &&
    (worldId === '' || isId('world', worldId))
  if (!wellFormed) throw notFound()
  const found = givenProjectId === '' && worldId !== '' ? await projectOfWorld({ organizationId, worldId }) : undefined
  const projectId = found ?? givenProjectId
  const scope = { organizationId, projectId, worldId }
  const kind = worldId !== '' ? 'world' : projectId !== '' ? 'project' : 'organization'
  const readable = mayRead(permissions, pathOf(organizationId, projectId || undefined, worldId || undefined))
  if (!readable || !(await deps.scopeExists(kind, scope))) throw notFound()
  return scope
}

const invalidHeader = (name: string, message: string): Problem =>
  new Problem('invalid_request', `The header ${name} ${message}.`, { errors: [{ path: name, message }] })
