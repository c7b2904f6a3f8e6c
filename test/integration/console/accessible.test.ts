import type { Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { aConsole, describeConsole, sendKey } from '#test/support/consolePage.ts'
import { rootApiKey } from '#test/support/processes.ts'
import { type Fleet, startFleet } from './fleet.ts'

describeConsole('for everybody, the console', () => {
  let fleet: Fleet
  beforeAll(async () => {
    fleet = await startFleet()
  })
  afterAll(() => fleet?.stop())
  const consoles = aConsole(() => fleet.origin)

  /** Every page and state, in an order in which each follows from the one before. */
  const states: [string, (page: Page) => Promise<unknown>][] = [
    ['the sign-in', (page) => page.getByLabel('API key').waitFor()],
    [
      'a refused sign-in',
      async (page) => {
        await sendKey(page, 'wrong')
        await page.getByRole('alert').waitFor()
      },
    ],
    [
      'the organizations',
      async (page) => {
        await sendKey(page, rootApiKey)
        await page.getByRole('link', { name: 'Acme' }).first().waitFor()
      },
    ],
    [
      'the fleet',
      async (page) => {
        const { organizationId } = fleet.tenant.scope
        await page.getByRole('listitem').filter({ hasText: organizationId }).getByRole('link').click()
        await page.getByRole('link', { name: 'Lobby' }).waitFor()
      },
    ],
    [
      'a filter without a match',
      async (page) => {
        await page.getByRole('searchbox', { name: 'Filter' }).fill('phsae:none')
        await page.getByText('No world matches the filter.').waitFor()
      },
    ],
    [
      'a lost connection',
      async (page) => {
        await page.getByRole('searchbox', { name: 'Filter' }).fill('')
        fleet.gate.close()
        await page.getByRole('alert').getByText('Not live since').waitFor()
      },
    ],
    [
      'a world that does not run',
      async (page) => {
        fleet.gate.open()
        await page.getByRole('status').getByText('Live').waitFor()
        await page.getByRole('link', { name: 'Forge' }).click()
        await page.getByRole('tabpanel').getByText('OutOfMemory').first().waitFor()
      },
    ],
    ...['Runs', 'Events'].map((name): [string, (page: Page) => Promise<unknown>] => [
      name,
      async (page) => {
        await page.getByRole('tab', { name }).click()
        await page.getByRole('tabpanel').getByRole('table').waitFor()
      },
    ]),
    [
      'a world that runs',
      async (page) => {
        await page.goBack()
        await page.goBack()
        await page.goBack()
        await page.getByRole('link', { name: 'Arena' }).click()
        await page.getByRole('tabpanel').getByText('10.0.0.7').first().waitFor()
      },
    ],
    [
      'a log',
      async (page) => {
        await page.getByRole('tab', { name: 'Logs' }).click()
        await page.getByText('hello').waitFor()
      },
    ],
  ]

  test.each([
    ['light', 1280],
    ['dark', 390],
  ] as const)(
    'in %s colours, %i pixels wide, has no violation of WCAG 2.2 A and AA that axe finds',
    async (colorScheme, width) => {
      const { page, violations } = await consoles.openForAxe({ colorScheme, width })
      for (const [state, show] of states) {
        await show(page)
        expect.soft(await violations(), state).toEqual([])
      }
    },
  )

  test('needs no pointer to sign in, filter, open a world and read it', async () => {
    const { page, mustHide } = await consoles.open()
    const focused = page.locator(':focus')
    const tabTo = async (target: Locator): Promise<void> => {
      for (let presses = 0; presses < 60; presses += 1) {
        if ((await target.and(focused).count()) > 0) return
        await page.keyboard.press('Tab')
      }
      throw new Error(`60 presses of Tab do not reach ${target}`)
    }
    const { keyboard } = page
    await page.getByLabel('API key').waitFor()
    await tabTo(page.getByLabel('API key'))
    mustHide(fleet.writer)
    await keyboard.type(fleet.writer)
    await keyboard.press('Enter')
    await page.getByRole('link', { name: 'Lobby' }).waitFor()
    await tabTo(page.getByRole('searchbox', { name: 'Filter' }))
    await keyboard.type('arena')
    await page.getByRole('link', { name: 'Lobby' }).waitFor({ state: 'detached' })
    await tabTo(page.getByRole('link', { name: 'Arena' }))
    await keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Arena' }).waitFor()
    await tabTo(page.getByRole('tab', { name: 'Now' }))
    await keyboard.press('ArrowRight')
    await page.getByRole('tabpanel').getByRole('table').waitFor()
    await keyboard.press('ArrowRight')
    await page.getByRole('tabpanel').getByText('hello').waitFor()
    await keyboard.press('ArrowRight')
    await page.getByRole('tabpanel').getByText('Started').first().waitFor()
    await tabTo(page.getByRole('button', { name: 'Sign out' }))
    await keyboard.press('Enter')
    await page.getByLabel('API key').waitFor()
  })

  test('shows where the focus is', async () => {
    const { page, signIn } = await consoles.open()
    await signIn(fleet.reader)
    await page.getByRole('link', { name: 'Lobby' }).waitFor()
    for (const target of [
      page.getByRole('searchbox', { name: 'Filter' }),
      page.getByRole('link', { name: 'Lobby' }),
      page.getByRole('button', { name: 'Sign out' }),
    ]) {
      await target.focus()
      await page.keyboard.press('Shift+Tab')
      await page.keyboard.press('Tab')
      expect(await target.and(page.locator(':focus')).count()).toBe(1)
      expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toMatch(/solid|auto/)
    }
  })
})
