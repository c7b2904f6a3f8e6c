import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { aConsole, describeConsole } from '#test/support/consolePage.ts'
import { aKey } from '#test/support/keys.ts'
import { createRest } from '#test/support/rest.ts'
import { eventually } from '#test/support/wait.ts'
import { type Fleet, startFleet } from './fleet.ts'

describeConsole('the page of a world, when something fails,', () => {
  let fleet: Fleet
  beforeAll(async () => {
    fleet = await startFleet()
  })
  afterAll(() => fleet?.stop())
  const consoles = aConsole(() => fleet.origin)

  const lost = [
    /WebSocket connection to .* failed/,
    /api\/realtime\/(connect|tickets)/,
    // A read that was in progress.
    /net::ERR_(CONNECTION|SOCKET|EMPTY)_/,
  ]
  const openWorld = async (id: string, { tab = '', apiKey = fleet.writer, mayLog = [] as RegExp[] } = {}) => {
    const { organizationId, projectId } = fleet.tenant.scope
    const path = `organizations/${organizationId}/projects/${projectId}/worlds/${id}/${tab}`
    const opened = await consoles.open({ path, mayLog })
    await opened.signIn(apiKey)
    const { page } = opened
    await page.getByRole('status').getByText('Live').waitFor()
    return {
      ...opened,
      panel: page.getByRole('tabpanel'),
      why: page.getByRole('region', { name: 'Why' }),
      heading: (name: string) => page.getByRole('heading', { name, exact: true }).waitFor(),
      openTab: (name: string) => page.getByRole('tab', { name }).click(),
      button: (name: string) => page.getByRole('button', { name, exact: true }),
      isIn: (phase: string) => page.locator(`.world-head .phase-${phase.toLowerCase()}`).waitFor(),
    }
  }

  test('misses nothing of what happened without a connection, and loads nothing twice', async () => {
    const id = await fleet.tenant.world({ name: 'Yard' })
    const { page, heading, isIn, why, requests } = await openWorld(id, { mayLog: lost })
    await why.getByText('Yard').first().waitFor()
    // After the next change, the page reads nothing by itself, which it else does every 15 or 20 s.
    await page.evaluate(`{
      const { setTimeout } = globalThis
      globalThis.setTimeout = (act, ms) => (ms > 10_000 && ms <= 20_000 ? 0 : setTimeout(act, ms))
    }`)
    await fleet.patch(id, { name: 'Garden' })
    await why.getByText('Garden').first().waitFor()
    fleet.gate.close()
    await page.getByRole('alert').getByText('Not live since').waitFor()
    await fleet.patch(id, { name: 'Park' })
    await fleet.start(id)
    // Nothing more changes after the reconnection, so that each read is one of it.
    await fleet.has(id, 'waiting for a node', ({ message }) => message.includes('node'))
    await isIn('Inactive')
    const before = requests.length
    fleet.gate.open()
    await page.getByRole('button', { name: 'Try now' }).click()
    await isIn('Starting')
    await heading('Park')
    await why.getByText('Park').first().waitFor()
    const since = requests.slice(before)
    expect(since.length).toBeGreaterThan(0)
    expect(since).toEqual([...new Set(since)])
  })

  test('ends with its key, and shows the same page after the next sign-in', async () => {
    const { rest, paths } = fleet.tenant
    const key = await aKey(rest, { permissions: [`${paths.organization}/**:w`] })
    const opened = await openWorld(fleet.worlds.arena, {
      tab: 'events/',
      apiKey: key.apiKey,
      mayLog: [/status of 401/, ...lost],
    })
    const { page, panel, signIn } = opened
    await panel.getByRole('table').waitFor()
    await key.patch({ expiresAt: new Date(Date.now() + 1_000).toISOString() })
    await page.getByText('no longer valid').waitFor()
    expect(await page.getByRole('heading', { name: 'Arena' }).count()).toBe(0)
    await signIn(fleet.writer)
    await panel.getByRole('table').waitFor()
    expect(page.url()).toContain(`${fleet.worlds.arena}/events/`)
  })

  test('counts down until another start is permitted', async () => {
    const id = await fleet.tenant.world({ name: 'Garden' })
    const { page, button, isIn } = await openWorld(id, { mayLog: [/status of 429/] })
    const writer = createRest(fleet.origin, fleet.tenant.scope, fleet.writer)
    // The default limit of a world.
    for (let starts = 0; starts < 10; starts += 1) await writer.call('POST', `/api/worlds/${id}/start/`)
    await isIn('Starting')
    await button('Restart').click()
    const failed = page.getByRole('region', { name: 'Restart failed' })
    await failed.getByText('Too many requests').waitFor()
    const secondsLeft = async (): Promise<number> => {
      const text = await failed.getByText(/Possible again in \d+ (s|min)/).textContent()
      const [, count, unit] = /in (\d+) (s|min)/.exec(text ?? '') ?? []
      return Number(count) * (unit === 'min' ? 60 : 1)
    }
    const first = await secondsLeft()
    await expect.poll(secondsLeft, { timeout: 15_000 }).toBeLessThan(first)
    expect(await button('Restart').getAttribute('aria-disabled')).toBe('false')
  })

  test('reads again when the API permits it, not before', async () => {
    const { page, panel, openTab, requests } = await openWorld(fleet.worlds.arena, { mayLog: [/status of 429/] })
    await page.route(/\/deployments\//, (route) =>
      // The client itself waits for at most 10 s.
      route.fulfill({ status: 429, headers: { 'retry-after': '12' }, json: { code: 'rate_limited', detail: 'Busy' } }),
    )
    await openTab('Runs')
    const alert = panel.getByRole('alert').filter({ hasText: 'The runs could not be loaded' })
    await alert.getByText('Wait 12 seconds, then try again.').waitFor()
    const retry = alert.getByRole('button', { name: 'Retry' })
    await page.unroute(/\/deployments\//)
    const sent = () => requests.filter((each) => each.includes('/deployments/')).length
    const before = sent()
    await retry.click({ force: true })
    expect(await retry.getAttribute('aria-disabled')).toBe('true')
    expect(sent()).toBe(before)
    await alert.getByText('Possible again now').waitFor()
    await retry.click()
    await panel.getByRole('table').waitFor()
    await alert.waitFor({ state: 'detached' })
  })

  test('keeps the sign-in and what it shows while the API has no database, and goes on afterwards', async () => {
    const { database } = fleet.gates
    onTestFinished(database.open)
    const { page, panel, openTab, heading } = await openWorld(fleet.worlds.arena, {
      mayLog: [...lost, /status of 50[03]/],
    })
    await heading('Arena')
    database.close()
    await openTab('Runs')
    const alert = panel.getByRole('alert').filter({ hasText: 'The runs could not be loaded' })
    await alert.getByText('The API is not available').waitFor()
    await alert.getByText(/^Request /).waitFor()
    await heading('Arena')
    database.open()
    await alert.getByRole('button', { name: 'Retry' }).click()
    await panel.getByRole('table').waitFor()
    await page.getByRole('status').getByText('Live').waitFor()
  })

  test('says that a start waits for the cluster, and follows it once the cluster is there', async () => {
    const { kubernetes } = fleet.gates
    onTestFinished(kubernetes.open)
    const id = await fleet.tenant.world({ name: 'Garden' })
    const { page, why, button, isIn } = await openWorld(id)
    await isIn('Inactive')
    kubernetes.close()
    await button('Start').click()
    await isIn('Starting')
    await why.getByText(/^Waiting for the cluster: /).waitFor()
    kubernetes.open()
    await fleet.podOf(id).exists()
    await fleet.podOf(id).becomesReady()
    await isIn('Active')
    await eventually('no word of the cluster', async () => !(await why.textContent())?.includes('for the cluster'))
    expect(await page.getByRole('alert').count()).toBe(0)
  })
})
