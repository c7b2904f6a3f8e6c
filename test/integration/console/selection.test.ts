import { afterAll, beforeAll, expect, test } from 'vitest'
import { aConsole, describeConsole } from '#test/support/consolePage.ts'
import { eventually } from '#test/support/wait.ts'
import { type Fleet, startFleet } from './fleet.ts'

describeConsole('the selection of worlds in the console', () => {
  let fleet: Fleet
  beforeAll(async () => {
    fleet = await startFleet()
  })
  afterAll(() => fleet?.stop())
  const consoles = aConsole(() => fleet.origin)

  let sets = 0
  /** Creates worlds with these names, and a filter that selects only them. */
  const aSet = async (names: readonly string[]) => {
    sets += 1
    const labels = { set: `s${sets}` }
    const ids: string[] = []
    for (const name of names) ids.push(await fleet.tenant.world({ name, metadata: { labels } }))
    return { ids, filter: `label:set=s${sets}` }
  }
  const remove = (id: string | undefined) => fleet.tenant.rest.call('DELETE', `/api/worlds/${id}/`)
  const open = async (filter: string, apiKey = fleet.writer) => {
    const opened = await consoles.open({ path: `?sort=name&q=${encodeURIComponent(filter)}` })
    await opened.signIn(apiKey)
    const { page } = opened
    await page.getByRole('status').getByText('Live').waitFor()
    const table = page.getByRole('table', { name: 'Worlds' })
    const bar = page.getByRole('region', { name: 'Selection' })
    const labelsOf = (selector: string) =>
      table.locator(selector).evaluateAll((each) => each.map((box) => box.getAttribute('aria-label')?.slice(7)))
    return {
      page,
      bar,
      table,
      focused: page.locator(':focus'),
      filter: page.getByRole('searchbox', { name: 'Filter' }),
      box: (name: string) => page.getByRole('checkbox', { name: `Select ${name}`, exact: true }),
      button: (name: string) => bar.getByRole('button', { name }),
      /** Waits until the page shows that so many worlds are selected. */
      says: (text: string) => bar.locator('strong').getByText(text, { exact: true }).waitFor(),
      /** Waits until a screen reader was told so. */
      announces: (text: string) => bar.getByRole('status').getByText(text, { exact: true }).waitFor(),
      /** Waits until exactly these worlds are selected. */
      isSelected: (names: readonly string[]) =>
        eventually(`the selection of ${names}`, async () => {
          const seen = await labelsOf('[data-world]:checked')
          if (seen.join() === names.join()) return true
          throw new Error(`selected: ${seen}`)
        }),
      shown: () => table.getByRole('link').allTextContents(),
    }
  }
  const names = ['A1', 'A2', 'A3', 'A4', 'A5', 'A6']

  test('has worlds, ranges and all that match, and is cleared', async () => {
    const { filter } = await aSet(names)
    const { page, box, button, says, announces, isSelected } = await open(filter)
    await box('A2').click()
    await says('1 selected')
    await announces('1 selected')
    await box('A4').click({ modifiers: ['Shift'] })
    await isSelected(['A2', 'A3', 'A4'])
    // Shift on a selected one clears the range.
    await box('A5').click()
    await box('A3').click({ modifiers: ['Shift'] })
    await isSelected(['A2'])
    await button('Select all 6 that match').click()
    await isSelected(names)
    await page.getByRole('checkbox', { name: 'Select all that match' }).click()
    await announces('0 selected')
    await box('A6').click()
    await box('A1').click({ modifiers: ['Shift'] })
    await says('6 selected')
    await box('A1').press('Escape')
    await isSelected([])
  })

  test('has only worlds on screen: another filter drops those that it hides', async () => {
    const { filter } = await aSet(names)
    const { page, box, button, says, isSelected, filter: field } = await open(filter)
    await button('Select all 6 that match').click()
    await field.fill(`${filter} -name:A6`)
    await says('5 selected')
    await page.getByRole('status').getByText('5 selected').waitFor()
    await field.fill(filter)
    await box('A6').waitFor()
    await isSelected(names.slice(0, -1))
    // The page of a world does not change the filter.
    await page.getByRole('link', { name: 'A1' }).click()
    await page.getByRole('heading', { name: 'A1' }).waitFor()
    await page.goBack()
    await isSelected(names.slice(0, -1))
    await field.fill('name:Arena')
    await says('0 selected')
    await field.fill(filter)
    await box('A6').waitFor()
    await isSelected([])
  })

  test('holds the rows, and drops a world that no longer matches when they are sorted again', async () => {
    const { ids, filter } = await aSet(['A1', 'A2', 'A3'])
    const { page, button, says, shown, isSelected, filter: field } = await open(filter)
    await button('Select all 3 that match').click()
    await page.mouse.move(0, 0)
    await field.focus()
    await fleet.patch(ids[0] ?? '', { name: 'Z1' })
    const again = page.getByRole('button', { name: '1 change, sort again' })
    await again.waitFor()
    expect(await shown()).toEqual(['Z1', 'A2', 'A3'])
    await again.click()
    await eventually('the new order', async () => (await shown()).join() === 'A2,A3,Z1')
    await fleet.patch(ids[1] ?? '', { metadata: { annotations: {}, labels: {} } })
    await page.getByRole('button', { name: '(1 row no longer matches the filter)' }).waitFor()
    await says('3 selected')
    await again.click()
    await isSelected(['A3', 'Z1'])
  })

  test('forgets a deleted world without a word, and neither a range nor the arrow keys stop at its row', async () => {
    const { ids, filter } = await aSet(['A1', 'A2', 'A3', 'A4'])
    const { table, box, says, announces, focused, isSelected } = await open(filter)
    await box('A1').click()
    await box('A2').click()
    await announces('2 selected')
    await remove(ids[1])
    await table.getByText('This world was deleted.').waitFor()
    await says('1 selected')
    await announces('2 selected')
    await box('A1').focus()
    await box('A1').press('ArrowDown')
    await box('A3').and(focused).waitFor()
    await box('A3').press('ArrowUp')
    await box('A1').and(focused).waitFor()
    await box('A1').press('Shift+ArrowDown')
    await isSelected(['A1', 'A3'])
    await box('A3').press('Escape')
    await box('A1').click()
    await box('A4').click({ modifiers: ['Shift'] })
    await announces('3 selected')
    await isSelected(['A1', 'A3', 'A4'])
  })

  test('leaves the focus on the button that changed it, and moves it from actions that vanish', async () => {
    const { filter } = await aSet(['A1', 'A2'])
    const { page, box, button, focused, isSelected } = await open(filter)
    const all = button('Select all 2 that match')
    await all.press('Enter')
    await isSelected(['A1', 'A2'])
    expect(await all.and(focused).getAttribute('aria-disabled')).toBe('true')
    await button('Clear').press('Enter')
    await isSelected([])
    expect(await button('Clear').and(focused).getAttribute('aria-disabled')).toBe('true')
    await box('A1').click()
    await box('A1').press('Enter')
    await button('Start 1').and(focused).waitFor()
    await page.keyboard.press('Escape')
    await isSelected([])
    await all.and(focused).waitFor()
  })

  test('counts on its buttons the worlds on which the key may act', async () => {
    const { ids, filter } = await aSet(['A1', 'A2'])
    await fleet.start(ids[1] ?? '')
    const { project, organization } = fleet.tenant.paths
    const apiKey = await fleet.tenant.key([`${organization}/**:r`, `${project}/worlds/${ids[0]}:w`])
    const { table, button } = await open(filter, apiKey)
    await table.getByText('◐ Starting').waitFor()
    await button('Select all 2 that match').click()
    for (const name of ['Start 1', 'Stop 0', 'Restart 0', 'Delete 1']) await button(name).waitFor()
    await fleet.start(ids[0] ?? '')
    for (const name of ['Start 0', 'Stop 1', 'Restart 1', 'Delete 1']) await button(name).waitFor()
  })
})
