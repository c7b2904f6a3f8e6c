import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findChromium } from '#dev/programs.ts'
import { openBrowser } from '#test/support/browser.ts'
import { aCluster } from '#test/support/cluster.ts'
import { createTcpGate } from '#test/support/gate.ts'
import { type ApiProcess, aDatabase, startApi, startOperator } from '#test/support/processes.ts'
import { aTenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

type Received = { phases: string[]; states: string[] }

describe.skipIf(findChromium(process.env) === undefined)('in Chromium, a page', () => {
  const cluster = aCluster()
  let browser: Awaited<ReturnType<typeof openBrowser>>
  let api: ApiProcess
  let operator: Awaited<ReturnType<typeof startOperator>>
  let gate: Awaited<ReturnType<typeof createTcpGate>>
  beforeAll(async () => {
    browser = await openBrowser(fileURLToPath(new URL('page.ts', import.meta.url)))
    const settings = { ORRERY_ALLOWED_ORIGINS: browser.origin }
    api = await startApi({ databaseUrl: await aDatabase(), settings })
    operator = await startOperator()
    gate = await createTcpGate(new URL(api.url))
  })
  afterAll(async () => {
    await browser?.close()
    await Promise.all([gate?.remove(), api?.stop(), operator?.stop()])
  })

  /** Opens a page that subscribes to a new world with a read-only key. `received` returns what it has received. */
  const aFollowingPage = async (origin: string, more: { apiKey?: string } = {}) => {
    const { rest, scope, paths, key, world } = await aTenant(api.url)
    const worldId = await world()
    const options = {
      ...scope,
      baseUrl: `http://127.0.0.1:${gate.port}`,
      apiKey: await key([`${paths.project}/**:r`]),
      ...more,
    }
    const { page, errors } = await browser.page(origin)
    await page.evaluate(([given, id]) => Reflect.get(globalThis, 'follow')(given, id), [options, worldId] as const)
    const received = (): Promise<Received> => page.evaluate(() => Reflect.get(globalThis, 'received'))
    const sees = (phase: string) =>
      eventually(
        `phase ${phase}`,
        async () => {
          const seen = await received()
          if (seen.phases.at(-1) === phase) return true
          throw new Error(`the page received ${JSON.stringify(seen)}`)
        },
        { timeoutMs: 30_000 },
      )
    const namespace = `orrery-${scope.organizationId}`
    return { rest, worldId, pod: cluster.pod(namespace, worldId), received, sees, errors }
  }

  test('of an allowed origin sees a world start and stop, also after a disconnect', async () => {
    const { rest, worldId, pod, received, sees, errors } = await aFollowingPage(browser.origin)
    await sees('Inactive')
    await rest.call('POST', `/api/worlds/${worldId}/start/`)
    await sees('Starting')
    await pod.exists()
    gate.cut()
    await pod.becomesReady()
    await sees('Active')
    await rest.call('POST', `/api/worlds/${worldId}/stop/`)
    await sees('Stopped')
    const { phases, states } = await received()
    expect(phases.filter((phase, at) => phase !== phases[at - 1])).toEqual([
      ...['Inactive', 'Starting', 'Active', 'Stopped'],
    ])
    expect(states.join()).toMatch(/^connecting,open,(waiting,connecting,)+open$/)
    expect(errors).toEqual([])
  })

  test('with an invalid key gets the error and does not retry', async () => {
    const { received, sees } = await aFollowingPage(browser.origin, { apiKey: 'unknown' })
    await sees('unauthenticated')
    expect((await received()).states).toEqual(['connecting', 'closed'])
  })

  test('of another origin is refused and retries with backoff', async () => {
    const { received } = await aFollowingPage(browser.otherOrigin)
    await eventually('two refusals', async () => (await received()).states.length >= 4)
    const { phases, states } = await received()
    expect(states.slice(0, 4)).toEqual(['connecting', 'waiting', 'connecting', 'waiting'])
    expect(phases).toEqual([])
  })
})
