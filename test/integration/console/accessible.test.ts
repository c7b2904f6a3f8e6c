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
