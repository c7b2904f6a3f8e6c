import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'vitest'
import type { Endpoint } from '#api/domain/endpoint/endpoint.ts'
import { openDatabase } from '#api/platform/database/client.ts'
import { withDefined } from '#shared/optional.ts'
import { dumpRows } from '#test/support/dump.ts'
import { aDatabase, startApi } from '#test/support/processes.ts'
import { send } from '#test/support/rest.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'
import { absentId, bodies, type Credential, documentBodies, type RequestIds, readsHeader } from './matrix.ts'

/** A tenant with one object of each kind, and the ids of these objects. */
export type FullTenant = { readonly tenant: Tenant; readonly ids: RequestIds }

/** An API with an empty database, and requests of the matrix to it. */
export type Matrix = Awaited<ReturnType<typeof startMatrix>>

const settings = {
  ORRERY_LIMIT_REQUESTS_PER_SECOND: '100000',
  ORRERY_LIMIT_REQUEST_BURST: '100000',
  ORRERY_LIMIT_STARTS_PER_MINUTE: '100000',
  ORRERY_LIMIT_FAILED_CREDENTIALS_PER_MINUTE: '100000',
  // Deliveries end at once and stay as they are.
  ORRERY_WEBHOOK_DNS_SERVERS: '127.0.0.1:9',
  ORRERY_WEBHOOK_MAX_ATTEMPTS: '1',
  // Pictures are named by this URL, whatever port the test's API has.
  ORRERY_PUBLIC_URL: 'http://api.example:8080',
  ORRERY_ALLOW_INSECURE_PUBLIC_URL: 'true',
}

/** Starts an API without rate limits, with an empty database. */
export const startMatrix = async () => {
  const databaseUrl = await aDatabase()
  const objects = await mkdtemp(join(tmpdir(), 'orrery-objects-'))
  const stored = { ORRERY_OBJECT_STORE_URL: pathToFileURL(objects).href }
  const api = await startApi({ databaseUrl, settings: { ...settings, ...stored } })
  const { url } = api
  const storedObjects = async (): Promise<string[]> => (await readdir(objects, { recursive: true })).sort()
  return {
    url,
    databaseUrl,
    stop: async (): Promise<void> => {
      await api.stop()
      await rm(objects, { recursive: true, force: true })
    },
    /** Creates a tenant with one object of each kind. */
    aFullTenant: (suffix: string): Promise<FullTenant> => aFullTenant(url, suffix),
    /** Sends the request of the matrix to an endpoint, with these ids. `more` are further headers. */
    request: (endpoint: Endpoint, of: RequestIds, credential: Credential, more: Record<string, string> = {}) =>
      sendRequest(url, endpoint, of, { ...headersOf(endpoint, of, credential), ...more }),
    /** Sends requests, and fails if any row or stored object has changed afterwards. Tickets may end, or be added if `addsTickets`. */
    changingNothing: async <T>(sendRequests: () => Promise<T>, { addsTickets = false } = {}): Promise<T> => {
      await eventually('nothing waits for the cluster', async () => !(await dumpRows(databaseUrl)).waiting)
      const read = async () => {
        const { realtime_tickets: tickets = [], ...rows } = (await dumpRows(databaseUrl)).rows
        return { tickets, rows }
      }
      const before = await read()
      const objectsBefore = await storedObjects()
      const answer = await sendRequests()
      const after = await read()
      expect(after.rows).toEqual(before.rows)
      const added = after.tickets.filter((ticket) => !before.tickets.includes(ticket))
      expect(added.length > 0).toBe(addsTickets)
      expect(await storedObjects()).toEqual(objectsBefore)
      return answer
    },
    /** Runs SQL statements as the owner of the database. */
    execute: async (...statements: readonly string[]): Promise<void> => {
      const { db, close } = openDatabase({ url: databaseUrl, poolSize: 1 })
      for (const statement of statements) await db.execute(statement)
      await close()
    },
  }
}

/** Returns the parts of a response that could reveal something: all but those that differ for every request. */
export const comparable = ({ status, headers, text }: Awaited<ReturnType<typeof send>>) => ({
  status,
  text: text.replace(/"requestId":"[^"]+"/, '"requestId":""'),
  headers: [...headers].filter(([name]) => !/^(date|x-request-id|ratelimit-.*)$/.test(name)).sort(),
})

const headersOf = ({ scope = 'none' }: Endpoint, of: RequestIds, { apiKey, token }: Credential) =>
  withDefined({
    'x-api-key': apiKey,
    authorization: token && `Bearer ${token}`,
    'x-svc-organization-id': readsHeader.organization(scope) ? of.organizationId : undefined,
    'x-svc-project-id': readsHeader.project(scope) ? of.projectId : undefined,
  })

const sendRequest = (url: string, endpoint: Endpoint, of: RequestIds, headers: Record<string, string>) => {
  const { method, path, operationId } = endpoint
  const body = bodies[operationId]?.(of)
  const ids: Record<string, string> = of
  const target = {
    method: method.toUpperCase(),
    path: path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? ''),
  }
  if (body === undefined) return send(url, { ...target, headers })
  const isPicture = body instanceof Uint8Array
  return send(url, {
    ...target,
    headers: { 'content-type': isPicture ? 'image/png' : 'application/json', ...headers },
    body: isPicture ? new Uint8Array(body) : JSON.stringify(body),
  })
}

const aFullTenant = async (url: string, suffix: string): Promise<FullTenant> => {
  const tenant = await aTenant(url)
  const { rest } = tenant
  const webhook = aWebhook(tenant)
  const worldId = await tenant.world()
  const bots = await rest.call('POST', `/api/worlds/${worldId}/bots/`, { count: 1 })
  const botDeploymentId = bots.headers.get('location')?.split('/').at(-2) ?? ''
  await tenant.key([`${tenant.paths.organization}:r`])
  const keys = await rest.call<{ documentId: string }[]>('GET', '/api/organizations/apiKeys/')
  const apiKeyId = keys.body[0]?.documentId ?? ''
  const [channelId, tag] = [`channel-${suffix}`, `tag-${suffix}`]
  const build = { image: 'registry.example/server:1', contentId: `content-${suffix}` }
  await rest.call('PUT', `/api/builds/${channelId}/${tag}/`, build)
  const id = `document-${suffix}`
  for (const [type, body] of Object.entries(documentBodies)) {
    await rest.call('PUT', `/api/documents/${type.charAt(0).toLowerCase()}${type.slice(1)}/${id}/`, body)
  }
  const named = { ...tenant.scope, worldId, botDeploymentId, apiKeyId, channelId, tag, id }
  return { tenant, ids: { ...named, ...(await webhook), userId: 'user-7', tokenId: absentId('token') } }
}

/** Creates a webhook with a delivery that has failed. It selects an event that no other request causes. */
const aWebhook = async ({ rest }: Tenant): Promise<{ webhookId: string; deliveryId: string }> => {
  const body = { url: 'https://hooks.example.com/', events: ['api_key.deleted'] }
  const webhook = await rest.call<{ documentId: string }>('POST', '/api/webhooks/', body)
  const path = `/api/webhooks/${webhook.body.documentId}`
  const delivery = await rest.call<{ id: string }>('POST', `${path}/test/`)
  await eventually('the delivery has failed', async () => {
    const { body: deliveries } = await rest.call<{ status: string }[]>('GET', `${path}/deliveries/`)
    return deliveries[0]?.status === 'Failed'
  })
  return { webhookId: webhook.body.documentId, deliveryId: delivery.body.id }
}
