import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openPki } from '#dev/kubernetes/pki.ts'
import type { Pod } from '#operator/pods/pod.ts'
import { createIdSource } from '#shared/ids.ts'
import { maxLogBytes } from '#shared/logs/reasons.ts'
import { withDefined } from '#shared/optional.ts'
import { aCluster } from '#test/support/cluster.ts'
import { aKey, aToken } from '#test/support/keys.ts'
import { followLog, requestLog, startLogServer } from '#test/support/logServer.ts'
import { metricOf } from '#test/support/metrics.ts'
import { type ApiProcess, aDatabase, logLines, rootApiKey, startApi, startOperator } from '#test/support/processes.ts'
import { createRest } from '#test/support/rest.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { expectWithin } from '#test/support/timing.ts'
import { eventually } from '#test/support/wait.ts'

const newId = createIdSource({ now: Date.now })
const cluster = aCluster()
const dir = mkdtempSync(join(tmpdir(), 'orrery-logs-'))
const key = 'a-key-of-at-least-thirty-two-characters'
const servers = new Map<string, Pod>()
const logServers: { close(): Promise<void> }[] = []
const apis: ApiProcess[] = []
let operator: Awaited<ReturnType<typeof startOperator>>
let databaseUrl: string
let caFile: string
let otherCaFile: string
/** The API with the right authority, and another replica of it. */
let api: ApiProcess
let replica: ApiProcess
let tenant: Tenant

const aLogServer = async (host: string, line?: string): Promise<number> => {
  const server = await startLogServer({ pkiDir: join(dir, 'pki'), host, key, servers, ...withDefined({ line }) })
  logServers.push(server)
  return server.port
}

const anApi = async (port: number, trust: Record<string, string>): Promise<ApiProcess> => {
  const settings = { ORRERY_OPERATOR_URL: `https://localhost:${port}`, ORRERY_LOGS_KEY: key, ...trust }
  const started = await startApi({ databaseUrl, settings })
  apis.push(started)
  return started
}

beforeAll(async () => {
  databaseUrl = await aDatabase()
  caFile = (await openPki(join(dir, 'pki'), Date.now())).caFile
  otherCaFile = (await openPki(join(dir, 'other'), Date.now())).caFile
  operator = await startOperator()
  api = await anApi(await aLogServer('localhost'), { ORRERY_OPERATOR_CA_FILE: caFile })
  replica = await startApi({ databaseUrl })
  apis.push(replica)
  tenant = await aTenant(api.url)
})
afterAll(async () => {
  await Promise.all([...apis.map((each) => each.stop()), operator?.stop(), ...logServers.map((each) => each.close())])
  await cluster.close()
  rmSync(dir, { recursive: true, force: true })
})

/** Creates a world with a running server, whose log can be read. */
const aRunningWorld = async (): Promise<string> => {
  const id = await tenant.world()
  const namespace = `orrery-${tenant.scope.organizationId}`
  expect((await tenant.rest.call('POST', `/api/worlds/${id}/start/`)).status).toBe(200)
  servers.set(`${namespace}/${id}`, await cluster.pod(namespace, id).exists())
  await cluster.pod(namespace, id).becomesReady()
  await eventually('the world is Active', async () => {
    const { body } = await tenant.rest.call<{ status: { phase: string } }>('GET', `/api/worlds/${id}/`)
    return body.status.phase === 'Active'
  })
  return id
}

describe('the TLS of the log server', () => {
  let world: string
  const readAt = ({ url }: ApiProcess) =>
    createRest(url, tenant.scope).call<{ detail: string }>('GET', `/api/worlds/${world}/logs/`)
  beforeAll(async () => {
    world = await aRunningWorld()
  })

  test('is accepted with the authority of its file and the name of the URL', async () => {
    const apiKey = await tenant.key([`${tenant.paths.organization}/**:w`])
    const answer = await requestLog(api.url, { scope: tenant.scope, world, credential: { 'x-api-key': apiKey } })
    expect([answer.status, await answer.text()]).toEqual([200, 'hello\n'])
  })

  test.each([
    [
      'another authority',
      'localhost',
      () => ({ ORRERY_OPERATOR_CA_FILE: otherCaFile }),
      /is not signed by the authority in \S+ca\.crt\. Check ORRERY_OPERATOR_CA_FILE/,
    ],
    ['only the authorities of the system', 'localhost', () => ({}), /is not signed by an authority of the system/],
    [
      'another host name',
      'operator.example',
      () => ({ ORRERY_OPERATOR_CA_FILE: caFile }),
      /is not valid for localhost\. Check ORRERY_OPERATOR_URL/,
    ],
    [
      'a file that is missing',
      'localhost',
      () => ({ ORRERY_OPERATOR_CA_FILE: join(dir, 'none.crt') }),
      /none\.crt cannot be read \(ENOENT\)/,
    ],
  ])(
    'is refused with %s, in fixed words for the tenant and with the reason in the log',
    async (_, name, trust, why) => {
      const own = await anApi(await aLogServer(name), trust())
      const { status, headers, body } = await readAt(own)
      expect([status, headers.get('retry-after'), body.detail]).toEqual([
        503,
        '60',
        'The API does not trust the certificate of the operator, so no log can be read. Ask the platform operator.',
      ])
      const lines = logLines(own.logFile).filter(({ msg }) => msg === "the operator's log server is not trusted")
      expect(lines.map((line) => line.why)).toEqual([expect.stringMatching(why)])
    },
  )

  test('is refused by the API for a file that is no certificate', async () => {
    const file = join(dir, 'noise.crt')
    writeFileSync(file, 'noise')
    const own = await anApi(await aLogServer('localhost'), { ORRERY_OPERATOR_CA_FILE: file })
    expect((await readAt(own)).status).toBe(503)
  })
})

test('a log whose line is longer than the limit ends at 4 MiB', async () => {
  const port = await aLogServer('localhost', 'x'.repeat(maxLogBytes + 100_000))
  const own = await anApi(port, { ORRERY_OPERATOR_CA_FILE: caFile })
  const answer = await requestLog(own.url, { scope: tenant.scope, world: await aRunningWorld() })
  expect((await answer.text()).length).toBe(maxLogBytes)
})

test('a HEAD of a log checks rights, input and existence, and opens no stream', async () => {
  const world = await aRunningWorld()
  const made = await tenant.rest.call('POST', `/api/worlds/${world}/bots/`, { count: 1 })
  const bots = made.headers.get('location') ?? ''
  const [writer, reader] = await Promise.all(
    ['w', 'r'].map((verb) => tenant.key([`${tenant.paths.organization}/**:${verb}`])),
  )
  const head = async (path: string, key = writer): Promise<number> => {
    const scope = {
      'x-svc-organization-id': tenant.scope.organizationId,
      'x-svc-project-id': tenant.scope.projectId,
    }
    const url = new URL(path, api.url)
    return (await fetch(url, { method: 'HEAD', headers: { ...scope, 'x-api-key': key ?? '' } })).status
  }
  const opened = () => metricOf(api.metricsUrl, /^orrery_logs_opened_total\{.*\} (\d+)$/gm)
  const before = await opened()
  for (const path of [`/api/worlds/${world}/logs/?follow`, `${bots}logs/?bot=0&follow`]) {
    expect([await head(path), await head(path, reader), await head(`${path}&since=x`)]).toEqual([200, 403, 400])
  }
  const another = { world: newId('world'), bots: newId('bot') }
  expect(await head(`/api/worlds/${another.world}/logs/`)).toBe(404)
  expect(await head(`/api/worlds/${world}/bots/${another.bots}/logs/?bot=0`)).toBe(404)
  expect(await opened()).toBe(before)
})

describe('a followed log', () => {
  const follow = async (world: string, credential: Record<string, string>) => {
    const followed = await followLog(api.url, { scope: tenant.scope, world, credential })
    expect(followed.first).toContain('data: hello')
    return followed
  }
  /** Acts, and returns the end of the log and how long it took. */
  const endAfter = async ({ ends }: { ends: () => Promise<string> }, act: () => Promise<{ status: number }>) => {
    const ended = ends()
    const { status } = await act()
    expect(status).toBeLessThan(300)
    const startedMs = performance.now()
    return { end: await ended, tookMs: performance.now() - startedMs }
  }
  const isEndedBy = (reason: string) => ({ end: expect.stringContaining(`event: end\ndata: {"reason":"${reason}"}`) })
  /** The credential is checked every 500 ms. A busy machine needs some time for the check. */
  const longestMs = 2_000
  const everything = () => [`${tenant.paths.organization}/**:w`]
  const elsewhere = () => createRest(replica.url, tenant.scope)

  test.each(['revoke', 'weaken', 'deactivate'] as const)('ends within a second after its key: %s', async (change) => {
    const world = await aRunningWorld()
    const made = await aKey(elsewhere(), { permissions: everything() })
    const followed = await follow(world, { 'x-api-key': made.apiKey })
    const acts = {
      revoke: made.revoke,
      weaken: () => made.patch({ permissions: [`${tenant.paths.organization}/**:r`] }),
      deactivate: () => made.patch({ isActive: false }),
    }
    const ended = await endAfter(followed, acts[change])
    expect(ended).toMatchObject(isEndedBy('Revoked'))
    expectWithin(ended.tookMs, longestMs)
  })

  test('ends within a second after the token of its user is revoked', async () => {
    const world = await aRunningWorld()
    const token = await aToken(tenant.rest, 'ann', everything())
    const { jti = '' } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { jti?: string }
    const followed = await follow(world, { authorization: `Bearer ${token}` })
    const ended = await endAfter(followed, () => elsewhere().call('DELETE', `/api/users/ann/tokens/${jti}/`))
    expect(ended).toMatchObject(isEndedBy('Revoked'))
    expectWithin(ended.tookMs, longestMs)
  })

  test('ends within a second after its world is deleted, also for the platform key', async () => {
    const world = await aRunningWorld()
    const followed = await follow(world, { 'x-api-key': rootApiKey })
    const ended = await endAfter(followed, () => elsewhere().call('DELETE', `/api/worlds/${world}/`))
    expect(ended).toMatchObject(isEndedBy('Deleted'))
    expectWithin(ended.tookMs, longestMs)
  })
})
