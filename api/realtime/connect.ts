import type { Context as HonoContext } from 'hono'
import { organizationHeader, projectHeader, type ScopeIds, worldHeader } from '#api/domain/access/scope.ts'
import type { Env, Runtime } from '#api/domain/endpoint/serve.ts'
import type { Principal } from '#api/platform/auth/principal.ts'
import { answer } from '#api/platform/http/answer.ts'
import { notFound, Problem } from '#api/platform/http/problem.ts'
import { pathOf } from '#shared/domain/permissions.ts'
import { isId } from '#shared/ids.ts'
import { mayRead } from './topic.ts'

/** The dependencies of the realtime route. */
export type ConnectOptions = {
  /** The origins whose pages may connect, including that of the API. */
  readonly allowedOrigins: ReadonlySet<string>
  readonly projectOfWorld: (ids: { organizationId: string; worldId: string }) => Promise<string | undefined>
}

/**
 * Admits or refuses a realtime connection before the upgrade. The checks have the same order as for all routes: credential,
 * rate limit, headers, scope (404, also without a permission on it), origin (403) and connection limits (429). A request
 * without an upgrade gets the same checks, and 426 if it passes, so that a page can learn why its upgrade was refused.
 */
export const connect = async (runtime: Runtime, options: ConnectOptions, c: HonoContext<Env>): Promise<Response> => {
  const upgrade = c.env?.upgrade
  if (upgrade?.fault !== undefined) throw invalidHeader('sec-websocket-protocol', upgrade.fault)
  const principal = await runtime.authenticate(c, 'keyOrToken')
  runtime.limits.countRequest(principal)
  const scope = await scopeOf(runtime, options, c, principal)
  c.set('caller', { principal, organizationId: scope.organizationId })
  const origin = c.req.header('origin')
  if (origin !== undefined && !options.allowedOrigins.has(origin) && !isOfHost(origin, c.req.header('host'))) {
    throw new Problem('forbidden', 'Pages of this origin may not connect. Add the origin to ORRERY_ALLOWED_ORIGINS.')
  }
  if (upgrade === undefined) {
    throw new Problem('upgrade_required', 'Connect with WebSocket.', { headers: { upgrade: 'websocket' } })
  }
  const authorization = c.req.header('x-api-key') === undefined ? c.req.header('authorization') : undefined
  upgrade.admit({ principal, scope, token: authorization?.replace(/^Bearer +/i, '') })
  c.set('upgraded', true)
  return answer(c, null, { status: 204 })
}

/** Reports whether a page comes from the host that the request names. The API may have other names than its public one. */
const isOfHost = (origin: string, host: string | undefined): boolean =>
  host !== undefined && URL.parse(origin)?.host === host.toLowerCase()

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
