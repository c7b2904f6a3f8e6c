import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { aConsole, describeConsole } from '#test/support/consolePage.ts'
import { anOpenIdProvider } from '#test/support/openIdProvider.ts'
import { type Fleet, startFleet } from './fleet.ts'

describeConsole('the sign-in of the console at an issuer', () => {
  let provider: Awaited<ReturnType<typeof anOpenIdProvider>>
  let fleet: Fleet
  /** The path and query of the page that the tests open. */
  let path: string
  const dir = mkdtempSync(join(tmpdir(), 'orrery-issuer-'))
  beforeAll(async () => {
    provider = await anOpenIdProvider()
    const file = join(dir, 'issuers.json')
    writeFileSync(file, JSON.stringify([provider.entry()]))
    fleet = await startFleet({ settings: { ORRERY_JWT_ISSUERS_FILE: file } })
    path = `organizations/${fleet.tenant.scope.organizationId}/?q=name%3Alob`
    hasUser('ann')
    provider.hasUser('guest', {})
  })
  afterAll(async () => {
    await Promise.all([fleet?.stop(), provider?.close()])
    rmSync(dir, { recursive: true, force: true })
  })
  const consoles = aConsole(() => fleet.origin)

  /** Gives a user full access to the organization. */
  const hasUser = (login: string): void => {
    const { scope, paths } = fleet.tenant
    const permissions = [`${paths.organization}/**:*`]
    provider.hasUser(login, { organization_id: scope.organizationId, permissions })
  }
  const open = async ({ at = path, mayLog = [] as RegExp[] } = {}) => {
    const opened = await consoles.open({ path: at, issuer: provider.url, mayLog })
    const { page } = opened
    return {
      ...opened,
      lobby: page.getByRole('link', { name: 'Lobby' }),
      button: page.getByRole('button', { name: 'Sign in with Example' }),
      alert: page.getByRole('alert'),
      isAt: (expected: string) => expect(page.url()).toBe(`${fleet.origin}/console/${expected}`),
      countStored: () => page.evaluate<number>('sessionStorage.length'),
    }
  }
  const issuesTokensFor = (seconds: number): void => {
    provider.issuesTokensFor(seconds)
    onTestFinished(() => provider.issuesTokensFor(3_600))
  }

  test('leads back to the page, shows the user and stores nothing; a reload takes one click', async () => {
    const { page, signInAtIssuer, lobby, button, requests, isAt, countStored } = await open()
    await signInAtIssuer('ann')
    await lobby.waitFor()
    isAt(path)
    await page.getByRole('banner').getByText('ann').waitFor()
    expect(await countStored()).toBe(0)
    expect(requests.filter((each) => each.includes('/api/sign-in/'))).toEqual([
      'GET /api/sign-in/issuers/',
      'POST /api/sign-in/requests/',
      'POST /api/sign-in/tokens/',
    ])
    await page.reload()
    await button.click()
    await lobby.waitFor()
    isAt(path)
  })

  test('is kept by the tab if the user asks for it, until the sign-out, which says that the issuer may go on', async () => {
    const { page, signInAtIssuer, lobby, button, alert, countStored } = await open()
    await signInAtIssuer('ann', { isKept: true })
    await lobby.waitFor()
    await page.reload()
    await lobby.waitFor()
    expect(await countStored()).toBe(1)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await alert.getByText('The session at Example may go on').waitFor()
    expect(await countStored()).toBe(0)
    await page.reload()
    await button.waitFor()
    expect(await lobby.count()).toBe(0)
  })

  test('goes on with the next token: the page stays live, the log is read on, and nothing is said', async () => {
    issuesTokensFor(14)
    const { organizationId, projectId } = fleet.tenant.scope
    const at = `organizations/${organizationId}/projects/${projectId}/worlds/${fleet.worlds.arena}/logs/`
    const { page, signInAtIssuer, requests } = await open({ at })
    let sockets = 0
    page.on('websocket', () => {
      sockets += 1
    })
    await signInAtIssuer('ann', { isKept: true })
    await page.getByRole('tabpanel').getByText('hello').waitFor()
    await page.evaluate(`new MutationObserver(() => {
      globalThis.hasAlert ||= document.querySelector('[role=alert]') !== null
    }).observe(document.body, { childList: true, subtree: true })`)
    const count = (text: string): number => requests.filter((each) => each.includes(text)).length
    await expect.poll(() => [sockets, count('/logs/')], { timeout: 90_000 }).toEqual([2, 2])
    await page.getByText('New lines appear as the server writes them').waitFor()
    await fleet.patch(fleet.worlds.arena, { name: 'Annex' })
    await page.getByRole('heading', { name: 'Annex' }).waitFor()
    await fleet.patch(fleet.worlds.arena, { name: 'Arena' })
    expect(await page.evaluate('globalThis.hasAlert')).toBe(false)
    expect([count('/sign-in/tokens/'), count('/sign-in/refresh/')]).toEqual([1, expect.any(Number)])
    // The tab keeps the present tokens: the issuer refuses the first refresh token by now.
    await page.reload()
    await page.getByRole('tabpanel').getByText('hello').waitFor()
  })

  test('is not called live while a renewal that it needs takes long', async () => {
    issuesTokensFor(8)
    const { page, signInAtIssuer, lobby } = await open({ mayLog: [/status of 401/] })
    const held = Promise.withResolvers<void>()
    onTestFinished(() => held.resolve())
    await page.route('**/api/sign-in/refresh/', async (route) => {
      await held.promise
      await route.continue()
    })
    await signInAtIssuer('ann')
    await lobby.waitFor()
    // The renewal itself fails after 30 s.
    await page.getByRole('alert').getByText('Not live since').waitFor({ timeout: 25_000 })
    held.resolve()
    await page.getByRole('status').getByText('Live', { exact: true }).waitFor()
  })

  test('ends when the issuer does not renew it, and one key press goes on at the same place', async () => {
    issuesTokensFor(8)
    hasUser('bob')
    const { page, signInAtIssuer, lobby, button, alert, isAt } = await open({ mayLog: [/status of 401/] })
    await signInAtIssuer('bob')
    await lobby.waitFor()
    provider.forgets('bob')
    await alert.getByText('Example did not renew the sign-in. Sign in again.').waitFor()
    hasUser('bob')
    expect(await button.and(page.locator(':focus')).count()).toBe(1)
    await page.keyboard.press('Enter')
    await lobby.waitFor()
    isAt(path)
  })

  test('says that the issuer refuses it', async () => {
    const { page, signInAtIssuer, button, alert, isAt, countStored } = await open()
    await signInAtIssuer('eve')
    await alert.getByText('Example refused the sign-in: access_denied.').waitFor()
    expect(await page.getByText('The login is unknown').count()).toBe(0)
    isAt(path)
    expect(await countStored()).toBe(0)
    await button.waitFor()
  })

  test('says what the API does not accept in the token', async () => {
    const { signInAtIssuer, button, alert, countStored } = await open({ mayLog: [/status of 401/] })
    await signInAtIssuer('guest')
    await alert.getByText('organization_id').waitFor()
    expect(await countStored()).toBe(0)
    await button.waitFor()
  })

  test('says that the issuer does not answer, and works when it does', async () => {
    onTestFinished(() => provider.comesBack())
    const { page, signInAtIssuer, lobby, button, alert } = await open({ mayLog: [/status of 503/] })
    const goAway = { times: 1 }
    await page.route(
      '**/api/sign-in/tokens/',
      (route) => {
        provider.goesAway()
        return route.continue()
      },
      goAway,
    )
    await signInAtIssuer('ann')
    await alert.getByText('not available').waitFor()
    provider.comesBack()
    await button.click()
    await lobby.waitFor()
  })

  test('does nothing with a code that comes to the address of another issuer', async () => {
    const { page, signInAtIssuer, button, alert, requests, isAt, countStored } = await open()
    await page.addInitScript(`if (location.search.includes('code='))
      history.replaceState(null, '', location.href.replace(/issuer=\\w+/, 'issuer=other'))`)
    await signInAtIssuer('ann')
    await alert.getByText('is not from Example, so nothing was done').waitFor()
    await button.waitFor()
    isAt(path)
    expect(await countStored()).toBe(0)
    expect(requests.filter((each) => each.includes('/sign-in/tokens/'))).toEqual([])
  })

  test.each([
    ['a code that it did not ask for', '?code=abc&state=other'],
    ['an error that it did not ask for', '?error=access_denied&error_description=Call&state=other'],
    ['an answer without a state', '?code=abc'],
  ])('does nothing with %s', async (_, at) => {
    const { button, alert, requests, isAt } = await open({ at })
    await alert.getByText('not the answer to a sign-in of this tab').waitFor()
    await button.waitFor()
    isAt('')
    expect(requests).toEqual(['GET /api/sign-in/issuers/'])
  })

  test('goes on with what the tab keeps at a link that looks like an answer', async () => {
    const { page, signInAtIssuer, lobby, alert, isAt, countStored } = await open()
    await signInAtIssuer('ann', { isKept: true })
    await lobby.waitFor()
    await page.goto(`${fleet.origin}/console/?error=access_denied`)
    await lobby.waitFor()
    isAt('')
    expect([await alert.count(), await countStored()]).toEqual([0, 1])
  })

  test('opens every page, which says what a token may not do', async () => {
    const { page, signInAtIssuer, lobby } = await open({ at: '' })
    await signInAtIssuer('ann')
    await lobby.waitFor()
    const main = page.getByRole('main')
    for (const [name, shown] of [
      ['Launch', 'of 3 runs'],
      ['Organization', 'maxWorlds'],
      ['Projects', 'Full access'],
      ['Keys', 'Needs an API key, not the token of a user'],
      ['Webhooks', 'no webhook'],
      ['Deleted', 'No world of this project is deleted'],
      ['Audit', 'createSignInToken'],
    ] as const) {
      await page.getByRole('link', { name, exact: true }).click()
      await main.getByText(shown).first().waitFor()
      expect(await main.getByRole('alert').count()).toBe(0)
    }
    await page.getByRole('link', { name: 'Worlds', exact: true }).click()
    await lobby.click()
    await page.getByRole('button', { name: 'Start', exact: true }).click()
    await fleet.has(fleet.worlds.lobby, 'started', ({ phase }) => phase !== 'Inactive')
  })

  test.each(['light', 'dark'] as const)(
    'has no violation of WCAG 2.2 that axe finds, in %s colours',
    async (colorScheme) => {
      const { page, violations } = await consoles.openForAxe({ path: '?error=x', colorScheme, width: 390 })
      await page.getByRole('button', { name: 'Sign in with Example' }).waitFor()
      expect(await violations()).toEqual([])
    },
  )
})
