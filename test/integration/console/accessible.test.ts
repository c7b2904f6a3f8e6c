import type { Locator } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { aConsole, describeConsole } from '#test/support/consolePage.ts'
import { type Fleet, startFleet } from './fleet.ts'
import { statesOf } from './states.ts'

describeConsole('for everybody, the console', () => {
  let fleet: Fleet
  beforeAll(async () => {
    fleet = await startFleet()
  })
  afterAll(() => fleet?.stop())
  const consoles = aConsole(() => fleet.origin)

  test.each([
    ['light', 1280],
    ['dark', 390],
  ] as const)(
    'in %s colours, %i pixels wide, has no violation of WCAG 2.2 A and AA that axe finds',
    async (colorScheme, width) => {
      const { page, violations } = await consoles.openForAxe({ colorScheme, width })
      for (const [state, show] of statesOf(fleet)) {
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
