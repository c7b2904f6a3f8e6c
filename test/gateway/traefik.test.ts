import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { get } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { obtainGatewayDefinitions } from '#dev/gateway/definitions.ts'
import { missingForContainerd } from '#dev/node/index.ts'
import { freePort } from '#dev/ports.ts'
import type { Service } from '#dev/process.ts'
import { findChromium } from '#dev/programs.ts'
import type { World } from '#shared/resources/world.ts'
import { openBrowser } from '#test/support/browser.ts'
import { aStartedWorld, forget, npmStart, type RunningStack, startMs } from '#test/support/npmStart.ts'
import { gatewayObjects, startTraefik, type TestGateway } from '#test/support/traefik.ts'
import { eventually, patience } from '#test/support/wait.ts'

const isMissing = missingForContainerd(process.env).length > 0 || findChromium(process.env) === undefined
const domain = 'worlds.example.test'

// One world, whose platform gets its Gateway step by step: each test continues where the one before it ended.
describe.skipIf(isMissing)('with Traefik as the Gateway, a world', () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'orrery-gateway-'))
  let port: number
  let stack: RunningStack
  let traefik: Service | undefined
  let browser: Awaited<ReturnType<typeof openBrowser>>
  let page: Awaited<ReturnType<typeof browser.page>>['page']
  let world: Awaited<ReturnType<typeof aStartedWorld>>

  const kubectl = (...args: string[]): string =>
    execFileSync(stack.info.kubectl, ['--kubeconfig', stack.info.kubeconfig, ...args], {
      encoding: 'utf8',
      stdio: 'pipe',
      timeout: 60_000 * patience,
    })
  /** Applies the Gateway of the platform, with the labels of the namespaces that may use it. */
  const applyGateway = async (selector: object): Promise<void> => {
    const gateway: TestGateway = {
      ...{ namespace: 'gateways', name: 'players', listener: 'wss', hostname: `*.${domain}`, port, selector },
    }
    const file = join(stateDir, 'gateway.json')
    const items = await gatewayObjects(gateway, join(stateDir, 'gateway'))
    writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
    kubectl('apply', '-f', file)
  }
  const read = (): World => JSON.parse(kubectl('-n', world.namespace, 'get', 'world', world.id, '-o', 'json'))
  const shows = (reason: string): Promise<string> =>
    eventually(`the reason ${reason}`, async () => {
      const { conditions = [], message = '' } = read().status ?? {}
      if (conditions.some((each) => each.reason === reason)) return message
      throw new Error(`the reasons are ${conditions.map((each) => each.reason)}: ${message}`)
    })
  const url = (): string => `wss://${world.id}.${domain}:${port}`
  /** Returns the status with which the host name of the world answers a request that is not for a WebSocket. */
  const statusOfHost = (): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const host = `${world.id}.${domain}`
      const ca = join(stateDir, 'gateway', 'ca.crt')
      get(
        { host: '127.0.0.1', port, servername: host, headers: { host }, ca: readFileSync(ca), agent: false },
        (response) => {
          response.resume()
          resolve(response.statusCode)
        },
      ).on('error', reject)
    })
  const call = (name: string, value: string): Promise<void> =>
    page.evaluate(([of, given]) => Reflect.get(globalThis, of)(given), [name, value] as const)
  /** Enters the world in the browser. Throws if there is no welcome. */
  const enter = (): Promise<void> => call('enter', url())
  /** Returns the message of the server with that event. */
  const hears = (event: string) =>
    eventually(`the event ${event}`, async () => {
      const heard: { event: string }[] = await page.evaluate(() => Reflect.get(globalThis, 'heard'))
      return heard.find((each) => each.event === event)
    })
  const expectPlaying = async (): Promise<void> => {
    const { runId } = (await world.phase('Active')).status
    await eventually('a welcome', () => enter().then(() => true))
    expect(await hears('welcome')).toMatchObject({ worldId: world.id, runId })
    await call('say', 'hello')
    expect(await hears('echo')).toMatchObject({ text: 'hello' })
  }

  beforeAll(async () => {
    port = await freePort()
    stack = await npmStart(stateDir, ['--node', 'containerd'], {
      ORRERY_ROUTE_GATEWAY: 'gateways/players/wss',
      ORRERY_ROUTE_URL: `wss://*.${domain}:${port}`,
    })
    browser = await openBrowser(fileURLToPath(new URL('page.ts', import.meta.url)), { domain })
    page = (await browser.page(browser.origin)).page
    world = await aStartedWorld(stack, { networking: { strategy: 'Route' } })
  }, startMs)
  afterAll(async () => {
    await browser?.close()
    await traefik?.stop()
    stack?.child.kill('SIGINT')
    await stack?.exited
    forget(stateDir)
  })

  test('is RouteNotAvailable without the definitions of Gateway API', async () => {
    await shows('RouteNotAvailable')
  })

  test('is RouteNotAccepted while the listener does not admit its namespace, and the message says how to', async () => {
    // Applied by the server: an annotation is too small for a definition.
    kubectl('apply', '--server-side', '-f', obtainGatewayDefinitions(process.env))
    kubectl('wait', '--for=condition=Established', '--timeout=60s', '--all', 'customresourcedefinitions')
    await applyGateway({ matchLabels: { players: 'allowed' } })
    traefik = await startTraefik({ port, kubeconfig: stack.info.kubeconfig, logDir: stateDir })
    expect(await shows('RouteNotAccepted')).toContain('orrery.dev/organization')
  })

  test('becomes Active when the listener admits its namespace, without a restart of the operator', async () => {
    await applyGateway({ matchExpressions: [{ key: 'orrery.dev/organization', operator: 'Exists' }] })
    await world.phase('Active')
    const host = `${world.id}.${domain}`
    expect(read().status).toMatchObject({
      address: { host, port },
      addresses: [{ name: 'game', host, port, url: url() }],
    })
    expect(stack.output()).not.toContain('restart')
  })

  test('is played in Chromium at its URL', expectPlaying)

  test('has bots, which enter it', async () => {
    expect((await world.client.call('POST', `${world.path}bots/`, { count: 2 })).status).toBe(200)
    kubectl('wait', '--for=jsonpath={.status.ready}=2', '--timeout=120s', 'bots', '--all', '-n', world.namespace)
  })

  test('notifies its player when it stops, leaves no route behind, and is played again after its next start', async () => {
    // The server wants a WebSocket.
    expect(await statusOfHost()).toBe(426)
    await world.client.call('POST', `${world.path}stop/`)
    await hears('closing')
    await world.phase('Stopped')
    await eventually('no route', async () => kubectl('get', 'httproutes', '-A', '-o', 'name') === '')
    await eventually('the answer of Traefik itself', async () => (await statusOfHost()) === 404)
    await expect(enter()).rejects.toThrow('closed with 1006')
    await world.client.call('POST', `${world.path}start/`)
    await expectPlaying()
  })
})
