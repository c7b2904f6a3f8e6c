import { afterAll, beforeAll, expect, test } from 'vitest'
import { inSession } from '#dev/postgres.ts'
import { aCluster } from '#test/support/cluster.ts'
import { aConsole, describeConsole } from '#test/support/consolePage.ts'
import { type ApiProcess, aDatabase, startApi } from '#test/support/processes.ts'
import type { WorldBody } from '#test/support/rest.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

const minuteMs = 60_000
const fromNow = (minutes: number): string => new Date(Date.now() + minutes * minuteMs).toISOString()

// There is no operator: the tests write what it would report.
describeConsole('the sleep of a world in the console', () => {
  const cluster = aCluster()
  let databaseUrl: string
  let api: ApiProcess
  let tenant: Tenant
  let reader: string
  let writer: string
  beforeAll(async () => {
    databaseUrl = await aDatabase()
    api = await startApi({ databaseUrl })
    tenant = await aTenant(api.url)
    const key = (verb: string) => tenant.key([`${tenant.paths.organization}/**:${verb}`])
    ;[reader, writer] = await Promise.all([key('r'), key('w')])
  })
  afterAll(async () => {
    await api?.stop()
    await cluster.close()
  })
  const consoles = aConsole(() => api.url)

  const read = async (id: string): Promise<WorldBody & { runtime: object }> =>
    (await tenant.rest.call<WorldBody & { runtime: object }>('GET', `/api/worlds/${id}/`)).body
  /** A world whose run has begun. */
  const startedWorld = async (runtime: object, members: object = {}) => {
    const id = await tenant.world({ name: 'Garden', runtime, ...members })
    const path = `/api/worlds/${id}/`
    const place = { namespace: `orrery-${tenant.scope.organizationId}`, name: id }
    await tenant.rest.call('POST', `${path}start/`)
    await eventually('the grant', async () => (await cluster.world(place.namespace, id).find())?.spec.granted)
    /** Writes the status, as the operator does. */
    const reports = async (status: object): Promise<void> => {
      const { spec } = await cluster.worlds.get(place)
      const patch = JSON.stringify({ status: { observedRevision: spec.revision, runId: spec.runId, ...status } })
      cluster.kubectl('-n', place.namespace, 'patch', 'world', id, '--subresource=status', '--type=merge', '-p', patch)
    }
    const sleeps = async (): Promise<void> => {
      await reports({ phase: 'Stopped', idle: { since: null, sleepsAt: null, asleepSince: fromNow(-5) } })
      await eventually(`${id} sleeps`, async () => (await read(id)).status.phase === 'Stopped')
    }
    return { id, path, reports, sleeps }
  }
  const openWorld = async (id: string, { apiKey = reader, tab = '' } = {}) => {
    const { organizationId, projectId } = tenant.scope
    const path = `organizations/${organizationId}/projects/${projectId}/worlds/${id}/${tab}`
    const { page, requests, signIn } = await consoles.open({ path })
    await signIn(apiKey)
    return {
      page,
      button: (name: string) => page.getByRole('button', { name, exact: true }),
      sleep: page.locator('.fact').filter({ has: page.getByText('Sleep', { exact: true }) }),
      isIn: (phase: string) => page.locator(`.world-head .phase-${phase.toLowerCase()}`).waitFor(),
      writes: () => requests.filter((each) => !each.startsWith('GET ')),
    }
  }

  test('is shown as it goes on: what keeps the world awake, when it will sleep, and since when it sleeps', async () => {
    const runtime = { idleStopMinutes: 15, durationMinutes: 240 }
    const { id, reports, sleeps } = await startedWorld(runtime, { transient: true })
    const { page, sleep, button, isIn } = await openWorld(id)
    await expect.poll(() => sleep.textContent()).toBe('SleepAfter 15 min without players')
    await reports({ phase: 'Active', idle: { keptAwakeBy: 'Players' } })
    await sleep.getByText('kept awake by players').waitFor()
    const sleepsAt = fromNow(12.5)
    await reports({ phase: 'Active', idle: { keptAwakeBy: null, since: fromNow(-2.5), sleepsAt } })
    await sleep.getByText(/sleeps at .* \(in 12m\)$/).waitFor()
    expect(await sleep.locator('time').getAttribute('datetime')).toBe(sleepsAt)
    await sleeps()
    await sleep.getByText(/^Asleep since/).waitFor()
    await isIn('Stopped')
    await page.getByText(/^240 min, ends .* \(in 3h\); the world is deleted then$/).waitFor()
    expect(await button('Start').isDisabled()).toBe(true)
    expect(await button('Wake').count()).toBe(0)
  })

  test('ends by a wake of a caller who may only read the world, with one request', async () => {
    const { id, path, sleeps } = await startedWorld({ idleStopMinutes: 15, wakeOnAccess: 'Access' })
    await sleeps()
    const { page, button, sleep, isIn, writes } = await openWorld(id)
    await sleep.getByText('; users who may enter wake the world').waitFor()
    for (const name of ['Start', 'Stop', 'Delete']) expect(await button(name).isDisabled()).toBe(true)
    await page.getByText('Commands for these actions').click()
    await page.getByText(`${path}wake/`).waitFor()
    await page.getByText(`await client.wakeWorld({ params: { worldId: '${id}' } })`).waitFor()
    await button('Wake').click()
    await isIn('Starting')
    await button('Restart').waitFor()
    expect(await sleep.textContent()).not.toContain('Asleep')
    expect(writes()).toEqual([`POST ${path}wake/`])
  })

  test('ends by a start where nobody may wake the world', async () => {
    const { id, path, sleeps } = await startedWorld({ idleStopMinutes: 15, wakeOnAccess: 'Never' })
    await sleeps()
    const { button, isIn, writes } = await openWorld(id, { apiKey: writer })
    await button('Start').click()
    await isIn('Starting')
    expect(writes()).toEqual([`POST ${path}start/`])
  })

  test('is a stop for good after a stop', async () => {
    const { id, sleeps } = await startedWorld({ idleStopMinutes: 15, wakeOnAccess: 'Access' })
    await sleeps()
    const { button } = await openWorld(id, { apiKey: writer })
    await button('Stop').click()
    await button('Wake').waitFor({ state: 'detached' })
    expect(await button('Start').isEnabled()).toBe(true)
    expect((await read(id)).status).not.toHaveProperty('idle')
  })

  test('is set, and the review says that a shorter time ends the present run', async () => {
    const { id, reports } = await startedWorld({ mapName: 'dust', idleStopMinutes: 600 })
    await reports({ phase: 'Active', idle: { since: fromNow(-90.5), sleepsAt: fromNow(510) } })
    await eventually('the report', async () => 'idle' in (await read(id)).status)
    const { page } = await openWorld(id, { apiKey: writer, tab: 'settings/' })
    await page.getByRole('button', { name: 'Edit the settings' }).click()
    expect(await page.getByLabel('Wake', { exact: true }).inputValue()).toBe('Never')
    await page.getByLabel('Wake', { exact: true }).selectOption('Access')
    await page.getByLabel('Sleep after', { exact: true }).fill('60')
    await page.getByRole('button', { name: 'Review and save' }).click()
    const dialog = page.getByRole('dialog')
    const said = '▲ Nobody was in the world for 1 h 30 min: the present run ends at once'
    expect((await dialog.getByRole('row').allTextContents()).slice(1)).toEqual([
      `Sleep after60060${said}`,
      'WakeNeverAccessAt once',
    ])
    await dialog.getByRole('button', { name: 'Save 2 changes' }).click()
    await page.getByRole('status').getByText('Saved: Sleep after, Wake.').waitFor()
    expect((await read(id)).runtime).toMatchObject({ mapName: 'dust', idleStopMinutes: 60, wakeOnAccess: 'Access' })
    await page.getByLabel('Sleep after', { exact: true }).fill('')
    await page.getByRole('button', { name: 'Review and save' }).click()
    await dialog.getByRole('button', { name: 'Save 1 change' }).click()
    await page.getByRole('status').getByText('Saved: Sleep after.').waitFor()
    expect((await read(id)).runtime).not.toHaveProperty('idleStopMinutes')
  })

  test('is in the runs: why one ended, and who woke the world for the next', async () => {
    const { id } = await startedWorld({ idleStopMinutes: 15, wakeOnAccess: 'Access' })
    const wokenBy = `${tenant.scope.organizationId}/users/${'w'.repeat(60)}\u202e@example.com`
    const sql = "update deployments set woken_by = $2, status = 'Stopped', end_reason = 'Idle' where world_id = $1"
    await inSession(databaseUrl, (session) => session.query(sql, [id, wokenBy]))
    const { page } = await openWorld(id, { tab: 'runs/' })
    const run = page.getByRole('row').filter({ hasText: /dep-/ })
    await run.getByText('Nobody was in it').waitFor()
    await run.getByText(/^Woken by users\/w+⟨U\+202E⟩@example\.com$/).waitFor()
    const hidden = '(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.querySelector(".scrolled"))'
    expect(await page.evaluate(hidden)).toBe(0)
  })
})
