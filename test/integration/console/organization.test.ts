import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { aConsole, describeConsole } from '#test/support/consolePage.ts'
import { type ApiProcess, aDatabase, rootApiKey, startApi } from '#test/support/processes.ts'
import { createRest } from '#test/support/rest.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

const hostile = '<img src=x onerror=alert(1)> \u202egnp.exe'
const marker = '⟨U+202E⟩'
const keysPath = '/api/organizations/apiKeys/'
const inDays = (days: number): string => new Date(Date.now() + days * 24 * 3_600_000).toISOString()

describeConsole('the pages of an organization in the console', () => {
  let api: ApiProcess
  let tenant: Tenant
  let other: string
  let lobby: string
  /** Keys that may manage the organization, change it, read it, and read one project alone. */
  let owner: string
  let writer: string
  let reader: string
  let guest: string
  beforeAll(async () => {
    api = await startApi({ databaseUrl: await aDatabase() })
    tenant = await aTenant(api.url)
    const { rest, paths } = tenant
    lobby = await tenant.world({ name: 'Lobby' })
    other = (await rest.call<{ projectId: string }>('POST', '/api/organizations/projects/', { name: hostile })).body
      .projectId
    owner = await tenant.key([`${paths.organization}/**:*`])
    writer = await tenant.key([`${paths.organization}/**:w`])
    reader = await tenant.key([`${paths.organization}/**:r`])
    guest = await tenant.key([`${paths.organization}/projects/${other}/**:r`])
  })
  afterAll(() => api?.stop())
  const consoles = aConsole(() => api.url)

  type Options = { apiKey?: string; width?: number; mayLog?: RegExp[] }
  const openPage = async (name: string, { apiKey = owner, ...more }: Options = {}) => {
    const path = `organizations/${tenant.scope.organizationId}/${name}`
    const opened = await consoles.open({ path, ...more })
    await opened.signIn(apiKey)
    return opened
  }
  const limit = (limits: object) => {
    const path = `/api/organizations/${tenant.scope.organizationId}/limits/`
    return tenant.rest.call('PATCH', path, limits)
  }
  const aKey = async (displayName: string, more: object = {}) => {
    const body = { displayName, permissions: [`${tenant.paths.organization}:r`], ...more }
    const { apiKey } = (await tenant.rest.call<{ apiKey: string }>('POST', keysPath, body)).body
    const { body: keys } = await tenant.rest.call<{ documentId: string; displayName: string }[]>('GET', keysPath)
    const id = keys.find((key) => key.displayName === displayName)?.documentId ?? ''
    return { apiKey, id }
  }

  test('shows each limit with its use, and marks those that are nearly or wholly used up', async () => {
    onTestFinished(async () => void (await limit({ maxWorlds: 1_000, maxWebhooks: 10, maxApiKeys: 1_000 })))
    const { body: keys } = await tenant.rest.call<object[]>('GET', keysPath)
    await limit({ maxWorlds: 1, maxWebhooks: 0, maxApiKeys: Math.floor(keys.length / 0.8) })
    const { page } = await openPage('usage/', { apiKey: reader })
    const bar = (name: string) => {
      const link = page.getByRole('link', { name: `Link to the limit ${name}`, exact: true })
      return page.getByRole('listitem').filter({ has: link })
    }
    await bar('maxWorlds').getByText('1 of 1').waitFor()
    await bar('maxWorlds').getByText('Used up').waitFor()
    await bar('maxApiKeys').getByText('Nearly used up').waitFor()
    await bar('maxWebhooks').getByText('Not allowed').waitFor()
    expect(await bar('maxRunningCapacity').getByText('used up').count()).toBe(0)
    await bar('maxRequestsPerSecond').getByText('2,000 a second to each replica').waitFor()
    const { body: usage } = await tenant.rest.call<object>('GET', '/api/organizations/current/usage/')
    for (const name of Object.keys(usage)) expect(await bar(name).count(), name).toBe(1)
  })

  test('leads to a limit by its link', async () => {
    const { page } = await openPage('usage/?limit=hostPorts', { width: 390 })
    const isShown = (name: string) =>
      eventually(`${name} is in view, with the focus`, () =>
        page.evaluate<boolean>(`(() => {
          const { activeElement: shown } = document
          const { top, bottom } = shown.getBoundingClientRect()
          return shown.ariaCurrent === 'true' && shown.textContent.includes('${name}') && top >= 0 && bottom <= innerHeight
        })()`),
      )
    await isShown('hostPorts')
    await page.getByRole('link', { name: 'Link to the limit maxWorlds' }).click()
    await isShown('maxWorlds')
    expect(page.url()).toMatch(/usage\/\?limit=maxWorlds$/)
  })

  test('shows the worlds of each project live, and leads to them', async () => {
    const { page } = await openPage('projects/', { apiKey: reader })
    const row = (id: string) => page.getByRole('row').filter({ hasText: id })
    const worldsOf = async (id: string) => (await row(id).getByRole('cell').allTextContents()).slice(1)
    await expect.poll(() => worldsOf(tenant.scope.projectId)).toEqual(['1', '0', '0', '0', '1', '0'])
    await expect.poll(() => worldsOf(other)).toEqual(['0', '0', '0', '0', '0', '0'])
    await tenant.rest.call('POST', `/api/worlds/${lobby}/start/`)
    await expect.poll(() => worldsOf(tenant.scope.projectId)).toEqual(['1', '0', '1', '0', '0', '0'])
    await row(tenant.scope.projectId).getByRole('link', { name: '1 world in Starting' }).click()
    await page.getByRole('link', { name: 'Lobby' }).waitFor()
    expect(new URL(page.url())).toMatchObject({
      pathname: expect.stringContaining(`/projects/${tenant.scope.projectId}/`),
      search: '?q=phase%3AStarting',
    })
  })

  test('shows of a project that the feed does not follow no number of worlds', async () => {
    const { organization, project } = tenant.paths
    const both = await tenant.key([`${organization}/projects/${other}/**:r`, `${project}/**:w`])
    const { page } = await openPage('projects/', { apiKey: both })
    const cells = (id: string) => page.getByRole('row').filter({ hasText: id }).getByRole('cell').allTextContents()
    await expect.poll(async () => (await cells(other)).slice(0, 2)).toEqual(['Read', '0'])
    expect((await cells(tenant.scope.projectId)).slice(0, 2)).toEqual(['Read and change', '–'])
    await page.getByText('one project at a time').waitFor()
  })

  test('tells the keys in words, and never asks for their strings', async () => {
    const { project, organization } = tenant.paths
    const soon = await aKey('Soon', { expiresAt: inDays(3), claims: { largeWorlds: true } })
    const late = await aKey('Late', { permissions: [`${organization}/projects/${other}/**:r`], isActive: false })
    const networks = { allowedNetworks: ['192.0.2.0/24'], permissions: [`${project}:w`] }
    const turned = await aKey('Turned', networks)
    await tenant.rest.call('POST', `${keysPath}${turned.id}/rotate/`, { overlapSeconds: 600 })
    const readings = async () =>
      (await tenant.rest.call<object[]>('GET', '/api/audit/?action=readApiKeyStrings')).body.length
    const before = await readings()
    await createRest(api.url, tenant.scope, owner).call('GET', '/api/organizations/current/')
    await eventually('the use of the key is written', async () => {
      const { body } = await tenant.rest.call<{ lastUsedAt?: string }[]>('GET', `${keysPath}?keyStrings=masked`)
      return body.some(({ lastUsedAt }) => lastUsedAt !== undefined)
    })
    const { page, requests, mustHide } = await openPage('keys/')
    for (const { apiKey } of [soon, late, turned]) mustHide(apiKey)
    const row = (id: string) => page.getByRole('row').filter({ hasText: id })
    await row(soon.id).getByText('Active, expires in 2 d 23 h').waitFor()
    await row(soon.id).getByText('Reads the organization itself, not its projects and worlds').waitFor()
    await row(soon.id).getByText('Starts worlds with profiles above Capacity1000').waitFor()
    await row(soon.id).getByText('Never').waitFor()
    await row(late.id).getByText('Switched off').waitFor()
    await row(late.id).getByText(`Reads project “<img src=x onerror=alert(1)> ${marker}gnp.exe” and`).waitFor()
    await row(turned.id).getByText('Rotation: the replaced string is valid until').waitFor()
    await row(turned.id).getByText('Only from 192.0.2.0/24').waitFor()
    await page
      .getByRole('row')
      .filter({ hasText: 'This sign-in' })
      .getByText(/\d+s ago/)
      .waitFor()
    await page.getByRole('searchbox', { name: 'Filter' }).fill(`${other}/**`)
    await row(soon.id).waitFor({ state: 'detached' })
    await row(late.id).waitFor()
    expect(requests.filter((each) => each.includes(keysPath)).every((each) => each.includes('keyStrings=masked'))).toBe(
      true,
    )
    expect(await readings()).toBe(before)
  })

  test('deletes a key after a question', async () => {
    const key = await aKey(`Old ${hostile}`)
    const { page, mustHide } = await openPage('keys/', { width: 320 })
    mustHide(key.apiKey)
    const row = page.getByRole('row').filter({ hasText: key.id })
    const dialog = page.getByRole('dialog', { name: 'Delete the key Old' })
    await row.getByRole('button', { name: 'Delete' }).click()
    await dialog.getByText('was never used').waitFor()
    await page.keyboard.press('Enter')
    await dialog.waitFor({ state: 'detached' })
    await row.getByRole('button', { name: 'Delete' }).click()
    await dialog.getByRole('button', { name: 'Delete the key' }).click()
    await row.waitFor({ state: 'detached' })
    const status = page.getByRole('status').filter({ hasText: `${marker}gnp.exe is deleted` })
    expect(await status.and(page.locator(':focus')).count()).toBe(1)
    const { body } = await tenant.rest.call<{ documentId: string }[]>('GET', keysPath)
    expect(body.map(({ documentId }) => documentId)).not.toContain(key.id)
  })

  test('says why a deletion failed whose dialog was closed, and why a managed key stays', async () => {
    const key = await aKey('Kept')
    const managed = await aKey('Provisioned')
    const { page } = await openPage('usage/', { mayLog: [/status of 503/] })
    await page.route(`**${keysPath}?*`, async (route) => {
      const response = await route.fetch()
      const found = (await response.json()) as { documentId: string }[]
      const json = found.map((each) =>
        each.documentId === managed.id ? { ...each, isManagedByProvisioner: true } : each,
      )
      await route.fulfill({ response, json })
    })
    const answered = Promise.withResolvers<void>()
    await page.route(`**${keysPath}${key.id}/`, async (route) => {
      await answered.promise
      await route.fulfill({ status: 503, contentType: 'application/problem+json', body: '{"detail":"Down for now"}' })
    })
    await page.getByRole('link', { name: 'Keys', exact: true }).click()
    const button = (id: string) => page.getByRole('row').filter({ hasText: id }).getByRole('button', { name: 'Delete' })
    await button(key.id).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete the key' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    answered.resolve()
    await page.getByRole('alert').getByText('Down for now').waitFor()
    await page.getByText('The key Kept is not deleted.').waitFor()
    const noteId = (await button(managed.id).getAttribute('aria-describedby')) ?? ''
    await page.locator(`#${noteId}`).getByText('The provisioner manages some keys').waitFor()
    expect(await button(managed.id).isDisabled()).toBe(true)
  })

  test('a part that was not loaded is loaded by another attempt, and the sign-in stays', async () => {
    const path = `organizations/${tenant.scope.organizationId}/usage/`
    const { page, signIn } = await consoles.open({ path, mayLog: [/ERR_FAILED/] })
    await page.route('**/OrganizationPage*', (route) => route.abort())
    await signIn(owner)
    const again = page.getByRole('alert').getByRole('button', { name: 'Try again' })
    await again.waitFor()
    await page.unroute('**/OrganizationPage*')
    await again.click()
    await page.getByText('maxRunningCapacity').waitFor()
  })

  test('a long list is read again with a click', async () => {
    const { page, requests } = await openPage('usage/')
    const isOfKeys = (each: string): boolean => each.startsWith('GET') && each.includes(keysPath)
    const { body: json } = await tenant.rest.call<object[]>('GET', `${keysPath}?keyStrings=masked`)
    await page.route(`**${keysPath}?*`, (route) => {
      const url = route.request().url()
      return route.fulfill(
        url.includes('cursor=') ? { json } : { json: [], headers: { link: `<${url}&cursor=a>; rel="next"` } },
      )
    })
    await page.getByRole('link', { name: 'Keys', exact: true }).click()
    await page.getByRole('button', { name: 'Read it again' }).click()
    await expect.poll(() => requests.filter(isOfKeys).length).toBe(4)
  })

  test('ends with the deletion of its own key', async () => {
    const permissions = [`${tenant.paths.organization}/**:*`]
    const own = await aKey('Own', { permissions })
    const { page } = await openPage('keys/', { apiKey: own.apiKey, mayLog: [/status of 401/] })
    await page.getByRole('row').filter({ hasText: own.id }).getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByText('key of this sign-in').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete the key' }).click()
    await page.getByText('no longer valid').waitFor()
  })

  test('says which permission the deletion of a key needs', async () => {
    for (const apiKey of [reader, writer]) {
      const { page } = await openPage('keys/', { apiKey })
      const button = page.getByRole('button', { name: 'Delete' }).first()
      await button.waitFor()
      expect(await button.isDisabled()).toBe(true)
      await page.getByText(`Needs * on the organization: ${tenant.paths.organization}:*`).waitFor()
      await button.click({ force: true })
      expect(await page.getByRole('dialog').count()).toBe(0)
    }
  })

  test('says which permission a page needs, and does not ask without it', async () => {
    for (const name of ['usage', 'keys']) {
      const { page, requests } = await openPage(`${name}/`, { apiKey: guest, mayLog: [/status of 40[34]/] })
      await page.getByText(`Needs r on the organization: ${tenant.paths.organization}:r`).waitFor()
      expect(requests.filter((each) => /usage|apiKeys/.test(each))).toEqual([])
    }
  })

  test('says what fails, and tries again', async () => {
    const { page } = await openPage('projects/', { mayLog: [/status of 503/] })
    await page.getByRole('row').filter({ hasText: other }).waitFor()
    await page.route('**/usage/', (route) =>
      route.fulfill({ status: 503, contentType: 'application/problem+json', body: '{"detail":"<b>Down</b>"}' }),
    )
    await page.getByRole('link', { name: 'Usage' }).click()
    const alert = page.getByRole('alert').filter({ hasText: 'The usage could not be loaded' })
    await alert.getByText('<b>Down</b>').waitFor()
    await page.unroute('**/usage/')
    await alert.getByRole('button', { name: 'Retry' }).click()
    await page.getByRole('listitem').filter({ hasText: 'maxWorlds' }).waitFor()
    await alert.waitFor({ state: 'detached' })
  })

  test.each([320, 1280])('keeps hostile names within the page, at %i pixels', async (width) => {
    await aKey(`${'x'.repeat(100)}${hostile}${width}`)
    const { page } = await openPage('projects/', { apiKey: rootApiKey, width })
    const isHarmless = async () => {
      expect(
        await page.evaluate(`({
          overflow: Math.max(0, document.documentElement.scrollWidth - innerWidth),
          elements: document.querySelectorAll('img, [onerror]').length,
        })`),
      ).toEqual({ overflow: 0, elements: 0 })
    }
    await page.getByRole('link', { name: `${marker}gnp.exe` }).waitFor()
    await isHarmless()
    for (const [name, text] of [
      ['Keys', `${marker}gnp.exe${width}`],
      ['Usage', 'maxRunningCapacity'],
    ] as const) {
      await page.getByRole('navigation', { name: 'Organization' }).getByRole('link', { name }).click()
      await page.getByText(text).first().waitFor()
      await isHarmless()
    }
  })

  test.each([
    ['light', 1280],
    ['dark', 390],
  ] as const)('has no violation of WCAG that axe finds, in %s colours at %i pixels', async (colorScheme, width) => {
    const path = `organizations/${tenant.scope.organizationId}/usage/`
    const { page, violations } = await consoles.openForAxe({ path, colorScheme, width })
    await page.getByLabel('API key').fill(owner)
    await page.getByRole('button', { name: 'Sign in' }).click()
    const open = (name: string) =>
      page.getByRole('navigation', { name: 'Organization' }).getByRole('link', { name }).click()
    const check = async (state: string) => {
      expect.soft(await violations(), state).toEqual([])
    }
    await page.getByText('maxRunningCapacity').waitFor()
    await check('usage')
    await open('Projects')
    await page.getByRole('row').filter({ hasText: other }).waitFor()
    await check('projects')
    await open('Keys')
    await page.getByRole('button', { name: 'Delete' }).first().waitFor()
    await check('keys')
    await page.getByRole('button', { name: 'Delete' }).first().click()
    await page.getByRole('dialog').waitFor()
    await check('dialog')
  })
})
