import { afterAll, beforeAll, expect, test } from 'vitest'
import { aConsole, describeConsole, sendKey } from '#test/support/consolePage.ts'
import { type Fleet, startFleet } from './fleet.ts'

const hostile = '<img src=x onerror=alert(1)> \u202egnp.exe'

describeConsole('the records of an organization in the console', () => {
  let fleet: Fleet
  /** A key with `*` on the organization. */
  let admin: string
  beforeAll(async () => {
    fleet = await startFleet()
    admin = await fleet.tenant.key([`${fleet.tenant.paths.organization}/**:*`])
  })
  afterAll(() => fleet?.stop())
  const consoles = aConsole(() => fleet.origin)

  const open = async (path: string, { apiKey = admin, ...options }: { apiKey?: string; mayLog?: RegExp[] } = {}) => {
    const opened = await consoles.open({
      path: `organizations/${fleet.tenant.scope.organizationId}/${path}`,
      ...options,
    })
    await opened.signIn(apiKey)
    const { page } = opened
    return {
      ...opened,
      changes: page.getByRole('region', { name: 'Table of changes' }).getByRole('row'),
      deleted: (id: string) =>
        page.getByRole('region', { name: 'Table of deleted worlds' }).getByRole('row').filter({ hasText: id }),
      button: (name: string) => page.getByRole('button', { name, exact: true }),
    }
  }
  const worldPath = (id: string, tab = ''): string => `projects/${fleet.tenant.scope.projectId}/worlds/${id}/${tab}`

  test('a change appears with its author, its fields and a link to the world', async () => {
    const id = await fleet.tenant.world({ name: hostile })
    const { page, changes, button } = await open('audit/')
    const made = changes.filter({ hasText: 'createWorld' }).filter({ hasText: id })
    await made.getByText('Platform key').waitFor()
    await made.getByText('REST').waitFor()
    await made.getByText('/name').waitFor()
    await made.getByText('⟨U+202E⟩').waitFor()
    await page.getByLabel('Action').fill('startWorld')
    await page.getByLabel('Resource (id)').fill(fleet.worlds.arena)
    await button('Show').click()
    await made.waitFor({ state: 'detached' })
    await changes.filter({ hasText: 'startWorld' }).waitFor()
    expect(await changes.count()).toBe(2)
    expect(await button('Show').and(page.locator(':focus')).count()).toBe(1)
    expect(new URL(page.url()).search).toBe(`?action=startWorld&resource=${fleet.worlds.arena}`)
    await changes.getByRole('link', { name: 'Arena' }).click()
    await page.getByRole('heading', { name: 'Arena' }).waitFor()
    await page.goBack()
    await button('Clear the filters').click()
    await made.waitFor()
    expect(await button('Clear the filters').and(page.locator(':focus')).count()).toBe(1)
    expect(await page.getByLabel('Action').inputValue()).toBe('')
    await page.getByText(/^Times are in \w+/).waitFor()
  })

  test('the filters are in the URL, and one that cannot be used is said', async () => {
    const { page, changes, button } = await open('audit/?door=kubectl')
    await page.getByText('No change matches the filters.').waitFor()
    await page.getByLabel('Through').selectOption({ label: 'REST' })
    await button('Show').click()
    await changes.nth(1).waitFor()
    const other = await open('audit/?since=soon&until=2020-01-01T00:00:00Z')
    await other.page.getByRole('alert').getByText('The time "soon" of "since" is ignored.').waitFor()
    await other.page.getByText('No change matches the filters.').waitFor()
    expect(await other.page.getByLabel('Until').inputValue()).toMatch(/^20(20-01-01|19-12-31)T/)
  })

  test('older changes come on demand, without a gap, also after pages that have none', async () => {
    const id = await fleet.tenant.world({ name: 'Garden' })
    const count = 120
    for (let index = 0; index < count; index += 1) await fleet.patch(id, { description: `Edit ${index}` })
    const { page, changes, button, requests } = await open(worldPath(id, 'history/'))
    await page.getByText('100 changes, newest first').waitFor()
    // Two pages that compare records and find none.
    let empty = 0
    await page.route('**/api/audit/?*cursor=*', async (route) => {
      if (empty === 2) return route.fallback()
      empty += 1
      await route.fulfill({ json: [], headers: { link: `<${route.request().url()}>; rel="next"` } })
    })
    await button('Show older changes').click()
    await page.getByText(`${count + 1} changes, newest first`).waitFor()
    await button('Show older changes').waitFor({ state: 'detached' })
    expect(await changes.count()).toBe(count + 2)
    expect(requests.filter((each) => each.includes('cursor='))).toHaveLength(3)
  })

  test('the history of a world has its changes and no others, and follows it', async () => {
    const id = await fleet.tenant.world({ name: 'Garden' })
    const { changes, page } = await open(worldPath(id, 'history/'))
    await changes.filter({ hasText: 'createWorld' }).waitFor()
    await fleet.patch(id, { description: 'New' })
    await changes.filter({ hasText: 'patchWorld' }).getByText('/description').waitFor()
    expect(await changes.count()).toBe(3)
    await changes.getByRole('link', { name: 'patchWorld' }).click()
    await page.getByRole('heading', { name: 'Audit' }).waitFor()
    expect(new URL(page.url()).search).toBe('?action=patchWorld')
  })

  test('a history with as many changes as are kept leads to the older ones of the same world', async () => {
    const { page } = await open('')
    const answer = await fleet.tenant.rest.call<object[]>('GET', `/api/audit/?resource=${fleet.worlds.arena}&limit=1`)
    await page.route('**/api/audit/?*', (route) =>
      route.fulfill({
        json: Array.from({ length: 2_000 }, (_, index) => ({ ...answer.body[0], id: `aud-${index}` })),
        headers: { link: `<${route.request().url()}&cursor=a>; rel="next"` },
      }),
    )
    await page.getByRole('link', { name: 'Arena' }).click()
    await page.getByRole('tab', { name: 'History' }).click()
    const older = page.getByRole('link', { name: 'Older changes' })
    expect(await older.getAttribute('href')).toMatch(/audit\/\?until=[^&]+&resource=wld-/)
  })

  test('without * on the organization, the missing permission is said', async () => {
    const { organization } = fleet.tenant.paths
    const { page, requests } = await open('audit/', { apiKey: fleet.writer })
    await page.getByText(`Needs * on the organization: ${organization}:*`).waitFor()
    const world = await open(worldPath(fleet.worlds.lobby, 'history/'), { apiKey: fleet.writer })
    await world.page.getByText(`Needs * on the organization: ${organization}:*`).waitFor()
    expect([...requests, ...world.requests].filter((each) => each.includes('/api/audit/'))).toEqual([])
  })

  test('a deleted world is restored, in the state that the page names', async () => {
    const id = await fleet.tenant.world({ name: hostile })
    await fleet.tenant.rest.call('DELETE', `/api/worlds/${id}/`)
    const { page, deleted, requests } = await open('deleted/', { apiKey: fleet.writer, mayLog: [/status of 409/] })
    await deleted(id).getByText('⟨U+202E⟩').waitFor()
    await deleted(id).getByText('in 6 d 23 h').waitFor()
    await page.getByText('inactive, private and without a server').waitFor()
    await deleted(id).getByRole('button').click()
    await page.getByRole('status').getByText('is restored').waitFor()
    await deleted(id).waitFor({ state: 'detached' })
    expect(await page.getByRole('status').filter({ hasText: 'is restored' }).and(page.locator(':focus')).count()).toBe(
      1,
    )
    expect((await fleet.tenant.rest.call('GET', `/api/worlds/${id}/`)).body).toMatchObject({
      name: hostile,
      status: { phase: 'Inactive' },
    })
    expect(requests.filter((each) => /purge|DELETE/.test(each))).toEqual([])
    await page.getByRole('status').getByRole('link').click()
    await page.getByRole('heading').getByText('⟨U+202E⟩').waitFor()
  })

  test('a restore waits while the cluster removes the world, also on other pages, and says why it fails', async () => {
    const id = await fleet.tenant.world({ name: 'Garden' })
    await fleet.tenant.rest.call('DELETE', `/api/worlds/${id}/`)
    const { page, deleted } = await open('deleted/', { apiKey: fleet.writer, mayLog: [/status of (409|429)/] })
    let answer = { code: 'conflict', detail: 'It exists.' }
    let sent = 0
    await page.route(`**/api/worlds/${id}/restore/`, async (route) => {
      sent += 1
      await route.fulfill({
        status: 409,
        json: { status: 409, ...answer },
        contentType: 'application/problem+json',
      })
    })
    const openPage = (name: string) =>
      page.getByRole('navigation', { name: 'Organization' }).getByRole('link', { name }).click()
    await deleted(id).getByRole('button').click()
    await page.getByText('as soon as the cluster has removed it').waitFor()
    await openPage('Usage')
    await page.getByText('maxWorlds').waitFor()
    const before = sent
    await expect.poll(() => sent, { timeout: 10_000 }).toBeGreaterThan(before)
    await openPage('Deleted')
    await page.getByText('as soon as the cluster has removed it').waitFor()
    answer = { code: 'limit_reached', detail: 'Its limit is 4 (maxWorlds).' }
    const failed = page.getByRole('region', { name: 'The restore of Garden failed' })
    await failed.getByText('Its limit is 4 (maxWorlds).').waitFor()
    expect(await deleted(id).getByRole('button').isDisabled()).toBe(false)
  })

  test('deleted worlds are those of the chosen project', async () => {
    const { organizationId } = fleet.tenant.scope
    const made = await fleet.tenant.rest.call<{ projectId: string }>('POST', '/api/organizations/projects/', {
      name: 'Second',
    })
    const { page } = await open(`projects/${made.body.projectId}/deleted/`, { apiKey: fleet.writer })
    await page.getByText('No world of this project is deleted').waitFor()
    const id = await fleet.tenant.world({ name: 'Garden' })
    await fleet.tenant.rest.call('DELETE', `/api/worlds/${id}/`)
    await page.getByLabel('Project').selectOption(fleet.tenant.scope.projectId)
    await page.getByLabel('Name or id').fill(id)
    await page.getByRole('row').filter({ hasText: id }).waitFor()
    await page.getByText(/^1 of /).waitFor()
    expect(new URL(page.url()).pathname).toBe(
      `/console/organizations/${organizationId}/projects/${fleet.tenant.scope.projectId}/deleted/`,
    )
  })

  test('deleted worlds are shown to a reader, and to a key of one world the missing permission', async () => {
    const { project } = fleet.tenant.paths
    const id = await fleet.tenant.world({ name: 'Garden' })
    await fleet.tenant.rest.call('DELETE', `/api/worlds/${id}/`)
    const reader = await open('deleted/', { apiKey: fleet.reader })
    await reader.page.getByText(`Needs w on the project: ${project}:w.`).waitFor()
    expect(await reader.deleted(id).getByRole('button').isDisabled()).toBe(true)
    await reader.deleted(id).getByRole('button').click({ force: true })
    expect(reader.requests.filter((each) => each.startsWith('POST'))).toEqual([])
    const apiKey = await fleet.tenant.key([`${project}/worlds/${fleet.worlds.lobby}:w`])
    // The feed of worlds needs a permission on the project.
    const { page } = await open('deleted/', { apiKey, mayLog: [/(status of|response code:) 404/] })
    await page.getByText(`Needs r on the project: ${project}:r`).waitFor()
  })

  test('a webhook gets a test message, its delivery is shown, and is sent again', async () => {
    const made = await fleet.tenant.rest.call<{ documentId: string }>('POST', '/api/webhooks/', {
      url: 'https://hooks.example.test/orrery',
      events: ['api_key.created'],
    })
    const id = made.body.documentId
    const { page, button } = await open('webhooks/')
    const webhook = page.getByRole('region', { name: 'Table of webhooks' }).getByRole('row').filter({ hasText: id })
    await webhook.getByText('https://hooks.example.test/orrery').waitFor()
    await webhook.getByText('api_key.created').waitFor()
    await webhook.getByRole('link').click()
    await page.getByText('Nothing was sent to this webhook yet').waitFor()
    expect(new URL(page.url()).search).toBe(`?webhook=${id}`)
    await button(`Send a test message to ${id}`).click()
    await page.getByRole('status').getByText('The test message is on its way.').waitFor()
    const delivery = page.getByRole('region', { name: 'Table of deliveries' }).getByRole('row')
    await delivery.filter({ hasText: 'webhook.test' }).filter({ hasText: 'Pending' }).waitFor()
    await delivery.getByRole('button').click()
    await page.getByRole('status').getByText('The message is sent again.').waitFor()
    await fleet.tenant.rest.call('PATCH', `/api/webhooks/${id}/`, { isActive: false })
    const again = await open(`webhooks/?webhook=${id}`)
    await again.page.getByText('It was switched off.').waitFor()
    expect(await again.button(`Send a test message to ${id}`).isDisabled()).toBe(true)
    await again.page.getByRole('button', { name: /^Redeliver / }).waitFor()
    expect(await again.page.getByRole('button', { name: /^Redeliver / }).isDisabled()).toBe(true)
    const described = again.page.locator('[aria-describedby="inactive-note"]')
    expect(await described.count()).toBe(2)
    await again.page.locator('#inactive-note').getByText('An inactive webhook sends nothing').waitFor()
  })

  test('webhooks that cannot be shown say why', async () => {
    const { page } = await open('webhooks/', { apiKey: fleet.writer })
    await page.getByText(`Needs * on the organization: ${fleet.tenant.paths.organization}:*`).waitFor()
    const unknown = await open('webhooks/?webhook=whk-0')
    await unknown.page.getByText(/There is no such webhook|has no webhook/).waitFor()
  })

  test.each([
    ['light', 1280],
    ['dark', 320],
  ] as const)(
    'in %s colours, %i pixels wide, the pages fit, and axe finds no violation',
    async (colorScheme, width) => {
      const { rest, scope } = fleet.tenant
      const id = await fleet.tenant.world({ name: 'Garden' })
      await rest.call('DELETE', `/api/worlds/${id}/`)
      const body = { url: 'https://hooks.example.test/orrery' }
      const made = await rest.call<{ documentId: string }>('POST', '/api/webhooks/', body)
      await rest.call('POST', `/api/webhooks/${made.body.documentId}/test/`)
      for (const [path, shows] of [
        ['audit/', 'createWorld'],
        ['audit/?since=soon&door=cli', 'No change matches'],
        [worldPath(fleet.worlds.arena, 'history/'), 'createWorld'],
        ['deleted/', 'Garden'],
        [`webhooks/?webhook=${made.body.documentId}`, 'webhook.test'],
      ] as const) {
        const page = `organizations/${scope.organizationId}/${path}`
        const opened = await consoles.openForAxe({ path: page, colorScheme, width })
        await sendKey(opened.page, admin)
        await opened.page.getByText(shows).first().waitFor()
        expect.soft(await opened.violations(), path).toEqual([])
        const overflow = await opened.page.evaluate('document.documentElement.scrollWidth - innerWidth')
        expect.soft(overflow, path).toBeLessThanOrEqual(0)
      }
    },
  )
})
