import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { aConsole, describeConsole, sendKey } from '#test/support/consolePage.ts'
import { rootApiKey } from '#test/support/processes.ts'
import { type Fleet, startFleet } from './fleet.ts'

const image = '<img src=x onerror=alert(1)>'

describeConsole('the palette of the console', () => {
  let fleet: Fleet
  beforeAll(async () => {
    fleet = await startFleet()
    await fleet.tenant.world({ name: `${image} \u202egnp.exe`, metadata: { labels: { [image]: 'a'.repeat(200) } } })
  })
  afterAll(() => fleet?.stop())
  const consoles = aConsole(() => fleet.origin)

  const of = (page: Page) => ({
    dialog: page.getByRole('dialog', { name: 'Go to' }),
    field: page.getByRole('combobox', { name: 'Go to' }),
    option: (name: string | RegExp) => page.getByRole('option', { name }),
    /** The entry that Enter does. */
    chosen: page.getByRole('option', { selected: true }),
    /** Opens the palette, and types a text. */
    ask: async (text: string): Promise<void> => {
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox', { name: 'Go to' }).waitFor()
      await page.keyboard.type(text)
    },
  })
  const open = async (apiKey: string, { path = '', mayLog = [] as RegExp[] } = {}) => {
    const opened = await consoles.open({ path, mayLog: [/status of 501/, ...mayLog] })
    await opened.signIn(apiKey)
    return { ...opened, ...of(opened.page) }
  }
  const pathOf = (id: string): string => {
    const { organizationId, projectId } = fleet.tenant.scope
    return `organizations/${organizationId}/projects/${projectId}/worlds/${id}/`
  }

  test('goes to worlds, tabs and pages by keyboard alone, and is loaded when it is opened first', async () => {
    const { page, ask, chosen } = await open(fleet.writer)
    const isLoaded = () =>
      page.evaluate("performance.getEntriesByType('resource').some(({ name }) => name.includes('/Palette-'))")
    await page.getByRole('link', { name: 'Arena' }).waitFor()
    expect(await isLoaded()).toBe(false)
    await ask('events')
    expect(await isLoaded()).toBe(true)
    await chosen.getByText('Lobby').waitFor()
    await chosen.getByText('team=events').waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Lobby' }).waitFor()
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('main')
    await ask('10.0.0.7')
    await chosen.getByText('Arena').waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Arena' }).waitFor()
    await ask('run')
    await page.keyboard.press('Enter')
    await page.getByRole('tab', { name: 'Runs', selected: true }).waitFor()
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('world-tab-runs')
    await ask('')
    await page.keyboard.press('ArrowDown')
    await chosen.getByText('Runs').waitFor()
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('ArrowUp')
    await chosen.getByText('Sign out').waitFor()
    await page.keyboard.press('Control+k')
    await ask('deleted')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Deleted' }).waitFor()
  })

  test('makes the rest of the page inert, and returns the focus when it is closed', async () => {
    const { page, ask, dialog } = await open(fleet.writer)
    await page.getByRole('link', { name: 'Arena' }).waitFor()
    const filter = page.getByRole('searchbox', { name: 'Filter' })
    await filter.focus()
    await ask('nothing like this')
    await dialog.getByText('Nothing has all of these words.').waitFor()
    for (let presses = 0; presses < 5; presses += 1) {
      await page.keyboard.press('Tab')
      expect(await page.evaluate("document.activeElement.closest('dialog, body').tagName")).toMatch(/DIALOG|BODY/)
      expect(await page.locator('#main :focus, header :focus').count()).toBe(0)
    }
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    expect(await filter.and(page.locator(':focus')).count()).toBe(1)
    expect(await filter.inputValue()).toBe('')
  })

  test('opens the fleet with a filter that is written as its text', async () => {
    const { page, ask, chosen } = await open(fleet.writer, { path: pathOf(fleet.worlds.arena) })
    await page.getByRole('heading', { name: 'Arena' }).waitFor()
    await ask('label:team=events')
    await chosen.getByText('Filter the worlds by label:team=events').waitFor()
    await page.keyboard.press('Enter')
    const table = page.getByRole('table', { name: 'Worlds' })
    await table.getByRole('link', { name: 'Lobby' }).waitFor()
    expect(await table.getByRole('link').count()).toBe(1)
    expect(await page.getByRole('searchbox', { name: 'Filter' }).inputValue()).toBe('label:team=events')
  })

  test('starts and stops the present world, but offers no deletion', async () => {
    const id = await fleet.tenant.world({ name: 'Garden' })
    const { page, ask, chosen, option, requests } = await open(fleet.writer, {
      path: pathOf(id),
      mayLog: [/status of 409/],
    })
    await page.locator('.world-head .phase-inactive').waitFor()
    await ask('delete')
    await option('Deleted').waitFor()
    expect(await option(/^Delete /).count()).toBe(0)
    await page.keyboard.press('Escape')
    await ask('start')
    await chosen.getByText('Garden').waitFor()
    await page.keyboard.press('Enter')
    await page.locator('.world-head .phase-starting').waitFor()
    await page.getByRole('button', { name: 'Stop', exact: true }).and(page.locator('[aria-disabled=false]')).waitFor()
    await ask('stop')
    await page.keyboard.press('Enter')
    await page.locator('.world-head .phase-stopped').waitFor()
    expect(requests.filter((each) => each.startsWith('POST'))).toEqual(
      ['start', 'stop'].map((action) => `POST /api/worlds/${id}/${action}/`),
    )
  })

  test('shows what the key does not permit with the missing permission, and does nothing then', async () => {
    const { page, ask, chosen, option, dialog, requests } = await open(fleet.reader, {
      path: pathOf(fleet.worlds.arena),
    })
    await page.locator('.world-head .phase-active').waitFor()
    await ask('stop')
    await chosen
      .getByText(`Needs w on the world: ${fleet.tenant.paths.project}/worlds/${fleet.worlds.arena}:w`)
      .waitFor()
    expect(await chosen.isDisabled()).toBe(true)
    await page.keyboard.press('Enter')
    await option(/^Stop/).click({ force: true })
    expect(await dialog.isVisible()).toBe(true)
    expect(requests.filter((each) => !each.startsWith('GET'))).toEqual([])
  })

  test('changes to another organization of the platform key', async () => {
    const { page, ask, option } = await open(rootApiKey)
    await page.getByRole('link', { name: 'Acme' }).first().waitFor()
    const { organizationId } = fleet.tenant.scope
    await ask(organizationId)
    await option(organizationId).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Arena' }).waitFor()
    await ask('all organizations')
    await option('All organizations').waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Organizations' }).waitFor()
  })

  test('gives no repeat of a held key to the browser, and confirms nothing by one', async () => {
    const { page, ask, dialog } = await open(fleet.writer, { path: `${pathOf(fleet.worlds.arena)}settings/` })
    await page.getByRole('button', { name: 'Edit the settings' }).click()
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Unsaved')
    await page.evaluate(`globalThis.repeats = []
      addEventListener('keydown', (event) => event.repeat && repeats.push(event.defaultPrevented))`)
    await page.keyboard.down('Control')
    await page.keyboard.down('k')
    await page.keyboard.down('k')
    await page.keyboard.up('k')
    await page.keyboard.up('Control')
    expect(await page.evaluate('repeats')).toEqual([true])
    expect(await dialog.isVisible()).toBe(true)
    await page.keyboard.press('Escape')
    await ask('sign out')
    await page.keyboard.down('Enter')
    await page.keyboard.down('Enter')
    await page.keyboard.up('Enter')
    await dialog.getByRole('status').getByText('Not saved yet').waitFor()
    expect(await page.evaluate('repeats')).toEqual([true, true])
  })

  test('copies a link with the organization, and signs out', async () => {
    const { page, ask, dialog } = await open(fleet.reader, { path: '?q=lobby' })
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.getByRole('link', { name: 'Lobby' }).waitFor()
    await ask('copy')
    await page.keyboard.press('Enter')
    await dialog.getByRole('status').getByText('Copied').waitFor()
    const link = `${fleet.origin}/console/organizations/${fleet.tenant.scope.organizationId}/?q=lobby`
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(link)
    await page.keyboard.press('Escape')
    await ask('sign out')
    await page.keyboard.press('Enter')
    await page.getByLabel('API key').waitFor()
    await page.keyboard.press('Control+k')
    expect(await dialog.count()).toBe(0)
  })

  test.each([
    ['light', 1280],
    ['dark', 320],
  ] as const)(
    'shows hostile names as text and has no violation of WCAG that axe finds, in %s colours, %i pixels wide',
    async (colorScheme, width) => {
      const { page, violations } = await consoles.openForAxe({ colorScheme, width, path: pathOf(fleet.worlds.arena) })
      await sendKey(page, fleet.reader)
      const { ask, option } = of(page)
      await page.locator('.world-head .phase-active').waitFor()
      await ask('')
      await option('Audit').waitFor()
      expect(await violations()).toEqual([])
      await page.keyboard.type('onerror')
      await option(image).getByText('⟨U+202E⟩gnp.exe').waitFor()
      expect(await violations()).toEqual([])
      expect(await page.locator('img, [onerror]').count()).toBe(0)
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
    },
  )
})
