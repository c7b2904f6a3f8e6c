import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { aConsole, describeConsole } from '#test/support/consolePage.ts'
import type { WorldBody } from '#test/support/rest.ts'
import { type Fleet, startFleet } from './fleet.ts'

describeConsole('the actions on the page of a world', () => {
  let fleet: Fleet
  beforeAll(async () => {
    fleet = await startFleet()
  })
  afterAll(() => fleet?.stop())
  const consoles = aConsole(() => fleet.origin)

  const openWorld = async (id: string, { apiKey = fleet.writer, mayLog = [] as RegExp[] } = {}) => {
    const { organizationId, projectId } = fleet.tenant.scope
    const path = `organizations/${organizationId}/projects/${projectId}/worlds/${id}/`
    const opened = await consoles.open({ path, mayLog })
    await opened.signIn(apiKey)
    const { page, requests } = opened
    return {
      page,
      button: (name: string) => page.getByRole('button', { name, exact: true }),
      isIn: (phase: string) => page.locator(`.world-head .phase-${phase.toLowerCase()}`).waitFor(),
      writes: () => requests.filter((each) => !each.startsWith('GET ')),
    }
  }
  const read = (id: string) => fleet.tenant.rest.call<WorldBody>('GET', `/api/worlds/${id}/`)
  const path = (id: string, action: string): string => `/api/worlds/${id}/${action}/`
  /** Returns the text that describes a button. */
  const noteOn = async (page: Page, name: string): Promise<string | null> => {
    const id = await page.getByRole('button', { name, exact: true }).getAttribute('aria-describedby')
    return page.locator(`#${id}`).textContent()
  }

  test('start, restart and stop it with one request each, and the page follows', async () => {
    const id = await fleet.tenant.world({ name: 'Garden' })
    const { button, isIn, writes } = await openWorld(id)
    await isIn('Inactive')
    await button('Start').click()
    await isIn('Starting')
    await fleet.podOf(id).becomesReady()
    await isIn('Active')
    const first = (await read(id)).body.status.runId
    await button('Restart').click()
    await isIn('Starting')
    expect((await read(id)).body.status.runId).not.toBe(first)
    await button('Stop').click()
    await isIn('Stopped')
    expect((await read(id)).body.status.phase).toBe('Stopped')
    await button('Start').waitFor()
    expect(writes()).toEqual(['start', 'start', 'stop'].map((action) => `POST ${path(id, action)}`))
  })

  test('show nothing that the feed has not said', async () => {
    const id = await fleet.tenant.world({ name: 'Garden' })
    const { page, button, isIn, writes } = await openWorld(id)
    await isIn('Inactive')
    await page.route(`**${path(id, 'start')}`, (route) => route.fulfill({ status: 200 }))
    await button('Start').click()
    await page.getByRole('status').getByText('Starting…').waitFor()
    expect(await button('Start').isDisabled()).toBe(true)
    await button('Start').click({ force: true })
    await isIn('Inactive')
    await page.unroute(`**${path(id, 'start')}`)
    await fleet.start(id)
    await isIn('Starting')
    await button('Stop').waitFor()
    expect(writes()).toEqual([`POST ${path(id, 'start')}`])
  })

  test('are disabled for a key that may only read, and say which permission it needs', async () => {
    const { page, button, isIn, writes } = await openWorld(fleet.worlds.lobby, { apiKey: fleet.reader })
    await isIn('Inactive')
    const { project } = fleet.tenant.paths
    for (const name of ['Start', 'Delete']) {
      expect(await button(name).isDisabled()).toBe(true)
      expect(await noteOn(page, name)).toBe(`Needs w on the world: ${project}/worlds/${fleet.worlds.lobby}:w.`)
      await button(name).click({ force: true })
    }
    expect(writes()).toEqual([])
  })

  test('say that a key of the world alone cannot undo a deletion', async () => {
    const { project } = fleet.tenant.paths
    const apiKey = await fleet.tenant.key([
      `organizations/${fleet.tenant.scope.organizationId}/**:r`,
      `${project}/worlds/${fleet.worlds.lobby}:w`,
    ])
    const { page, button, isIn } = await openWorld(fleet.worlds.lobby, { apiKey })
    await isIn('Inactive')
    expect(await button('Delete').isDisabled()).toBe(false)
    expect(await noteOn(page, 'Delete')).toContain(`cannot undo a deletion. That needs w on the project: ${project}:w.`)
  })

  test('delete it, and undo that', async () => {
    const id = await fleet.tenant.world({ name: 'Garden' })
    const { page, button, isIn, writes } = await openWorld(id, { mayLog: [/status of 40[49]/] })
    await isIn('Inactive')
    await button('Delete').click()
    await page.getByRole('alert').getByText('This world was deleted.').waitFor()
    await page.getByRole('alert').getByText('inactive, private and without a server').waitFor()
    expect((await read(id)).status).toBe(404)
    await button('Undo the deletion').click()
    await isIn('Inactive')
    expect((await read(id)).body).toMatchObject({ name: 'Garden', status: { phase: 'Inactive' } })
    await button('Delete').waitFor()
    expect(writes().slice(0, 2)).toEqual([`DELETE /api/worlds/${id}/`, `POST ${path(id, 'restore')}`])
  })

  test('say why the API refuses them', async () => {
    const { organizationId } = fleet.tenant.scope
    const limit = (maxRunningCapacity: number) =>
      fleet.tenant.rest.call('PATCH', `/api/organizations/${organizationId}/limits/`, { maxRunningCapacity })
    const { page, button, isIn } = await openWorld(fleet.worlds.lobby, { mayLog: [/status of 409/] })
    await isIn('Inactive')
    onTestFinished(async () => void (await limit(100_000)))
    await limit(1)
    await button('Start').click()
    const failed = page.getByRole('region', { name: 'Start failed' })
    await failed.getByText('A limit of the organization is reached').waitFor()
    expect(await button('Start').isDisabled()).toBe(false)
    await isIn('Inactive')
    await failed.getByRole('link', { name: 'Show the use of maxRunningCapacity' }).click()
    await page.locator('.limit:focus').getByText('maxRunningCapacity', { exact: true }).waitFor()
  })

  test('act although somebody else has changed the settings of the world meanwhile', async () => {
    const id = await fleet.tenant.world({ name: 'Garden' })
    await fleet.start(id)
    const { page, button, isIn, writes } = await openWorld(id, { mayLog: [/status of 412/] })
    await isIn('Starting')
    const { body, headers } = await read(id)
    // The page gets the world as it was, until its first request is refused.
    let isOld = true
    page.on('response', (response) => {
      if (response.status() === 412) isOld = false
    })
    const old = { json: body, headers: { etag: headers.get('etag') ?? '' } }
    await page.route(`**/api/worlds/${id}/`, (route) => (isOld ? route.fulfill(old) : route.continue()))
    await fleet.patch(id, { description: 'With roses' })
    await button('Restart').click()
    await expect.poll(async () => (await read(id)).body.status.runId).not.toBe(body.status.runId)
    await button('Stop').waitFor()
    expect(writes()).toEqual(Array(2).fill(`POST ${path(id, 'start')}`))
    expect(await page.getByRole('region', { name: 'Restart failed' }).count()).toBe(0)
  })

  test('do not end the run that somebody else has started meanwhile', async () => {
    const id = await fleet.tenant.world({ name: 'Garden' })
    await fleet.start(id)
    const { page, button, isIn } = await openWorld(id, { mayLog: [/status of 412/] })
    await isIn('Starting')
    // From now on the page gets the world as it was.
    const { body, headers } = await read(id)
    await page.route(`**/api/worlds/${id}/`, (route) =>
      route.fulfill({ json: body, headers: { etag: headers.get('etag') ?? '' } }),
    )
    await fleet.start(id)
    await button('Restart').click()
    await page.getByRole('region', { name: 'Restart failed' }).getByText('Somebody else changed it first').waitFor()
  })
})
