import { afterAll, beforeAll, expect, test } from 'vitest'
import { aConsole, describeConsole, sendKey } from '#test/support/consolePage.ts'
import { aKey } from '#test/support/keys.ts'
import { type ApiProcess, aDatabase, rootApiKey, startApi } from '#test/support/processes.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'

describeConsole('the sign-in of the console', () => {
  let api: ApiProcess
  let tenant: Tenant
  let other: Tenant
  let reader: string
  beforeAll(async () => {
    api = await startApi({ databaseUrl: await aDatabase() })
    tenant = await aTenant(api.url)
    other = await aTenant(api.url)
    await tenant.world({ name: 'Lobby' })
    await other.world({ name: 'Foyer' })
    reader = await tenant.key([`${tenant.paths.organization}/**:r`])
  })
  afterAll(() => api?.stop())
  const consoles = aConsole(() => api.url)

  test('with a wrong key says why, and keeps nothing', async () => {
    const { page, requests } = await consoles.open({ mayLog: [/status of 401/] })
    await sendKey(page, 'wrong', { isKept: true })
    await page.getByRole('alert').filter({ hasText: /key/i }).waitFor()
    expect(requests.filter((each) => each.includes('sign-in'))).toEqual(['GET /api/sign-in/issuers/'])
    expect(await page.evaluate('sessionStorage.length')).toBe(0)
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
  })

  test('shows the fleet, and a reload asks again', async () => {
    const { page, signIn } = await consoles.open()
    await signIn(reader)
    await page.getByRole('link', { name: 'Lobby' }).waitFor()
    expect(await page.evaluate('sessionStorage.length')).toBe(0)
    await page.reload()
    await page.getByLabel('API key').waitFor()
    expect(await page.getByText('If this stays, load the page again').count()).toBe(0)
    expect(await page.getByLabel('API key').inputValue()).toBe('')
  })

  test('is kept by the tab if the user asks for it, until the sign-out', async () => {
    const { page, signIn } = await consoles.open()
    await signIn(reader, { isKept: true })
    await page.reload()
    await page.getByRole('link', { name: 'Lobby' }).waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('API key').waitFor()
    expect(await page.evaluate('sessionStorage.length')).toBe(0)
    await page.reload()
    await page.getByLabel('API key').waitFor()
    expect(await page.getByRole('link', { name: 'Lobby' }).count()).toBe(0)
  })

  test('ends when the key is revoked, and says so', async () => {
    const { page, signIn } = await consoles.open({ mayLog: [/status of 401/] })
    const key = await aKey(tenant.rest, { permissions: [`${tenant.paths.organization}/**:r`] })
    await signIn(key.apiKey)
    await page.getByRole('link', { name: 'Lobby' }).waitFor()
    await key.revoke()
    await page.getByText('no longer valid').waitFor()
  })

  test('with a key of one project shows its worlds alone', async () => {
    const { body } = await tenant.rest.call<{ projectId: string }>('POST', '/api/organizations/projects/', {
      name: 'B',
    })
    const key = await tenant.key([`${tenant.paths.organization}/projects/${body.projectId}/**:r`])
    const headers = { 'x-svc-project-id': body.projectId }
    await tenant.rest.call('POST', '/api/worlds/', { name: 'Annex', transient: false }, headers)
    const { page, signIn } = await consoles.open()
    await signIn(key)
    await page.getByRole('link', { name: 'Annex' }).waitFor()
    expect(await page.getByRole('link', { name: 'Lobby' }).count()).toBe(0)
  })

  test('with the platform key asks for an organization', async () => {
    const { page, signIn } = await consoles.open()
    await signIn(rootApiKey)
    const choice = page.getByRole('row').filter({ hasText: other.scope.organizationId })
    await choice.getByRole('link').click()
    await page.getByRole('link', { name: 'Foyer' }).waitFor()
    expect(await page.getByRole('link', { name: 'Lobby' }).count()).toBe(0)
    expect(page.url()).toContain(other.scope.organizationId)
  })
})
