import type { Locator, Page } from 'playwright-core'

/** A way to use a page: by mouse, or by keyboard alone. */
export type Hands = {
  /** Activates a link or a button. */
  readonly press: (target: Locator) => Promise<void>
  /** Replaces the text of a field. */
  readonly write: (field: Locator, text: string) => Promise<void>
  /** Opens a tab of the page. */
  readonly openTab: (name: string) => Promise<void>
  /** Selects the rows from a checkbox to the one `count - 1` rows below. */
  readonly selectRows: (first: Locator, last: Locator, count: number) => Promise<void>
}

const mouseOn = (page: Page): Hands => ({
  press: (target) => target.click(),
  write: (field, text) => field.fill(text),
  openTab: (name) => page.getByRole('tab', { name }).click(),
  selectRows: async (first, last) => {
    await first.click()
    await last.click({ modifiers: ['Shift'] })
  },
})

/** A page has fewer stops of the keyboard. */
const maxPresses = 150

const keyboardOn = (page: Page): Hands => {
  const { keyboard } = page
  const focused = page.locator(':focus')
  const pressUntil = async (key: string, target: Locator): Promise<void> => {
    await target.waitFor()
    for (let presses = 0; presses <= maxPresses; presses += 1) {
      if ((await target.and(focused).count()) > 0) return
      await keyboard.press(key)
    }
    throw new Error(`${maxPresses} presses of ${key} do not reach ${target}`)
  }
  return {
    press: async (target) => {
      await pressUntil('Tab', target)
      await keyboard.press('Enter')
    },
    write: async (field, text) => {
      await pressUntil('Tab', field)
      await keyboard.press('ControlOrMeta+A')
      await keyboard.press('Delete')
      await keyboard.type(text)
    },
    openTab: async (name) => {
      await pressUntil('Tab', page.getByRole('tab', { selected: true }))
      await pressUntil('ArrowRight', page.getByRole('tab', { name }))
    },
    selectRows: async (first, last, count) => {
      await pressUntil('Tab', first)
      await keyboard.press('Space')
      for (let row = 1; row < count; row += 1) await keyboard.press('ArrowDown')
      await last.and(focused).waitFor()
      await keyboard.press('Shift+Space')
    },
  }
}

/** The ways to use a page: by mouse, and by keyboard alone. */
export const ways = [
  ['mouse', mouseOn],
  ['keyboard alone', keyboardOn],
] as const

/** Counts the clicks of a pointer on a page from now on, until it is loaded again. Returns a function that reads the count. */
export const countClicks = async (page: Page): Promise<() => Promise<number>> => {
  await page.evaluate(`{
    window.clicks = 0
    addEventListener('pointerdown', () => { window.clicks += 1 }, true)
  }`)
  return () => page.evaluate<number>('window.clicks')
}
