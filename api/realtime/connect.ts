import type { Context as HonoContext } from 'hono'
import {
  organizationHeader,
  projectHeader,
  type ScopeIds,
  ticketHeader,
  worldHeader,
} from '#api/domain/access/scope.ts'
import type { Env, Runtime } from '#api/domain/endpoint/serve.ts'
import { useTicket } from '#api/domain/realtimeTickets/tickets.ts'
import { type CredentialHeader, credentialHeaderOf } from '#api/platform/auth/authenticate.ts'
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
 * Admits or refuses a realtime connection before the upgrade. The checks have the same order as for all routes: credential, or the
 * ticket that stands for one, rate limit, headers, scope (404, also without a permission on it), origin (403) and connection limits
 * (429). A request without an upgrade gets the same checks, and 426 if it passes, so that a page can learn why its upgrade was refused.
 */
export const connect = async (runtime: Runtime, options: ConnectOptions, c: HonoContext<Env>): Promise<Response> => {
  const upgrade = c.env?.upgrade
  if (upgrade?.fault !== undefined) throw invalidHeader('sec-websocket-protocol', upgrade.fault)
  const { header, principal } = await authenticate(runtime, c)
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
  const token = header?.[0] === 'authorization' ? header[1].replace(/^Bearer +/i, '') : undefined
  upgrade.admit({ principal, scope, token })
  c.set('upgraded', true)
  return answer(c, null, { status: 204 })
}

type Authenticated = { readonly header: CredentialHeader | undefined; readonly principal: Principal }

/** Authenticates by the credential of the request, or by that for which its ticket stands. The ticket ends. */
const authenticate = async (runtime: Runtime, c: HonoContext<Env>): Promise<Authenticated> => {
  const { deps, limits, addressOf } = runtime
  const ticket = c.req.header(ticketHeader)
  const own = credentialHeaderOf(c)
  if (ticket === undefined) return { header: own, principal: await runtime.authenticate(c, 'keyOrToken', own) }
  // Basic is for a proxy. A browser adds it to each request.
  if (own !== undefined && !/^Basic /i.test(own[1])) {
    throw invalidHeader(ticketHeader, `replaces a credential. Send it without ${own[0]}`)
  }
  limits.checkFailures(addressOf(c))
  const header = await useTicket(deps, { ticket, organizationId: c.req.header(organizationHeader) ?? '' })
  if (header === undefined) {
    limits.countFailure(addressOf(c))
    throw unauthenticated(invalidTicket)
  }
  const principal = await runtime.authenticate(c, 'keyOrToken', header).catch((error: unknown) => {
    throw error instanceof Problem && error.status === 401 ? unauthenticated(endedCredential) : error
  })
  return { header, principal }
}

const invalidTicket =
  'The realtime ticket is invalid: it was used, has expired, or is of another organization. Create a new one for each handshake.'
const endedCredential = 'The credential of the realtime ticket is no longer valid. Create a ticket with a valid one.'
const unauthenticated = (detail: string): Problem =>
  new Problem('unauthenticated', detail, { headers: { 'www-authenticate': 'ApiKey, Bearer' } })

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
