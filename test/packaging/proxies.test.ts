import { mkdtempSync, rmSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Service } from '#dev/process.ts'
import { type ApiProcess, aDatabase, rootApiKey, startApi } from '#test/support/processes.ts'
import { proxyNames, startProxy } from '#test/support/proxies.ts'
import { createRest, send } from '#test/support/rest.ts'
import { getServers } from '#test/support/servers.ts'
import { openSocket } from '#test/support/socket.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

const coldBuildTimeoutMs = 900_000
/** Longer than the idle timeouts of the proxies, and than the 65 s for which the API keeps a connection. */
const idleMs = 70_000
const settings = {
  ORRERY_TRUSTED_PROXIES: '127.0.0.1/32',
  ORRERY_LIMIT_REQUESTS_PER_SECOND: '1',
  ORRERY_LIMIT_REQUEST_BURST: '5',
}

let dir: string
let databaseUrl: string
let api: ApiProcess
let tenant: Tenant
const proxies = new Map<string, Service & { readonly url: string }>()
const urlOf = (name: string): string => proxies.get(name)?.url ?? ''

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'orrery-proxies-'))
  databaseUrl = await aDatabase()
  api = await startApi({ databaseUrl, settings })
  tenant = await aTenant(api.url)
  const options = { apiUrl: api.url, dir, logDir: getServers().logDir }
  for (const name of proxyNames) proxies.set(name, await startProxy(name, options))
}, coldBuildTimeoutMs)

afterAll(async () => {
  await Promise.all([...proxies.values()].map((proxy) => proxy.stop()))
  await api?.stop()
  rmSync(dir, { recursive: true, force: true })
})

describe.each(proxyNames)('behind %s', (name) => {
  const restOf = (key?: string) => createRest(urlOf(name), tenant.scope, key)

  test('REST answers as it does without the proxy', async () => {
    const rest = restOf()
    const made = await rest.call<{ worldId: string }>('POST', '/api/worlds/', { name: 'Lobby', transient: false })
    expect(made.status).toBe(200)
    expect((await rest.call('GET', `/api/worlds/${made.body.worldId}/`)).status).toBe(200)
    expect((await rest.call('GET', '/api/worlds/wld-none/')).status).toBe(404)
  })

  test('the API sees the address of the client, which a header of the client cannot change', async () => {
    const body = {
      displayName: 'Here',
      permissions: [`${tenant.paths.organization}/**:r`],
      allowedNetworks: ['127.0.0.7/32'],
    }
    const { apiKey } = (await tenant.rest.call<{ apiKey: string }>('POST', '/api/organizations/apiKeys/', body)).body
    const statusFrom = (localAddress: string, forged: Record<string, string> = {}): Promise<number> =>
      new Promise((resolve, reject) => {
        const headers = { 'x-api-key': apiKey, 'x-svc-organization-id': tenant.scope.organizationId, ...forged }
        request(`${urlOf(name)}/api/worlds/`, { localAddress, agent: false, headers }, (response) => {
          response.resume()
          resolve(response.statusCode ?? 0)
        })
          .on('error', reject)
          .end()
      })
    expect(await statusFrom('127.0.0.7')).toBe(200)
    expect(await statusFrom('127.0.0.8')).toBe(401)
    expect(await statusFrom('127.0.0.8', { 'x-forwarded-for': '127.0.0.7' })).toBe(401)
  })

  test('a picture of nearly 10 MiB is stored, and a byte too many gets the 413 of the API', async () => {
    const path = `/api/worlds/${await tenant.world()}/pictureUrl/`
    const upload = (body: Uint8Array<ArrayBuffer>) =>
      send(urlOf(name), {
        method: 'PATCH',
        path,
        body,
        headers: {
          'x-api-key': rootApiKey,
          'x-svc-organization-id': tenant.scope.organizationId,
          'x-svc-project-id': tenant.scope.projectId,
          'content-type': 'image/png',
        },
      })
    const picture = await noisePicture()
    expect(picture.length).toBeGreaterThan(10_000_000)
    expect((await upload(picture)).status).toBe(200)
    const refused = await upload(new Uint8Array(10 * 1024 * 1024 + 1))
    expect({ status: refused.status, body: JSON.parse(refused.text) }).toMatchObject({
      status: 413,
      body: { code: 'body_too_large' },
    })
  })

  test('the 429 of the API reaches the client with Retry-After', async () => {
    const rest = restOf(await tenant.key([`${tenant.paths.organization}/**:r`]))
    const refused = await eventually('a 429', async () => {
      const answer = await rest.call('GET', '/api/worlds/')
      return answer.status === 429 && answer
    })
    expect(refused.body).toMatchObject({ code: 'rate_limited' })
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
  })
})

test('after 70 s without a message, each socket still hears changes, and kept connections still serve writes', async () => {
  const open = await Promise.all(
    proxyNames.map(async (name) => {
      const worldId = await tenant.world()
      const socket = await openSocket(urlOf(name), tenant.scope)
      socket.subscribe('world', worldId)
      await socket.hears('the world', ({ data }) => data?.phase === 'Inactive')
      return { name, worldId, socket }
    }),
  )
  await delay(idleMs)
  for (const { name, worldId, socket } of open) {
    const rest = createRest(urlOf(name), tenant.scope)
    expect((await rest.call('POST', `/api/worlds/${worldId}/start/`)).status).toBe(200)
    await socket.hears(`the start through ${name}`, ({ data }) => data?.phase === 'Starting')
    socket.terminate()
  }
})

test('while the API is away, each proxy answers 502 or 503, and it uses the API again when it is ready', async () => {
  await api.stop()
  const statusOf = async (name: string): Promise<number> => (await fetch(`${urlOf(name)}/readyz`)).status
  for (const name of proxyNames) {
    await eventually(`${name} misses the API`, async () => [502, 503].includes(await statusOf(name)))
  }
  api = await startApi({ databaseUrl, settings, port: Number(new URL(api.url).port) })
  for (const name of proxyNames) await eventually(`${name} uses the API`, async () => (await statusOf(name)) === 200)
})

/** A PNG of a little less than 10 MiB, which noise keeps from being compressed. */
const noisePicture = async (): Promise<Uint8Array<ArrayBuffer>> => {
  const create = { width: 1840, height: 1840, channels: 3, background: 'black', noise: { type: 'gaussian' } } as const
  return new Uint8Array(await sharp({ create }).png({ compressionLevel: 0 }).toBuffer())
}
