import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { aConsole, describeConsole } from '#test/support/consolePage.ts'
import { eventually } from '#test/support/wait.ts'
import { type Fleet, startFleet } from './fleet.ts'
import { countClicks, ways } from './hands.ts'

// The five jobs of the console. Each begins at the fleet.
describeConsole('the jobs of the console', () => {
  let fleet: Fleet
  /** A key that also reads who changed what. */
  let admin: string
  beforeAll(async () => {
    fleet = await startFleet({ log: 'the server says hello' })
    admin = await fleet.tenant.key([`${fleet.tenant.paths.organization}/**:*`])
  })
  afterAll(() => fleet?.stop())
  const consoles = aConsole(() => fleet.origin)

  describe.each(ways)('by %s', (way, handsOn) => {
    const open = async (path = '?sort=name') => {
      const opened = await consoles.open({ path })
      const { page, mustHide } = opened
      const clicks = await countClicks(page)
      const hands = handsOn(page)
      mustHide(admin)
      await hands.write(page.getByLabel('API key'), admin)
      await hands.press(page.getByRole('button', { name: 'Sign in' }))
      await page.getByRole('status').getByText('Live').waitFor()
      const table = page.getByRole('table', { name: 'Worlds' })
      return {
        ...hands,
        page,
        panel: page.getByRole('tabpanel'),
        filter: page.getByRole('searchbox', { name: 'Filter' }),
        world: (name: string) => table.getByRole('link', { name, exact: true }),
        button: (name: string | RegExp) => page.getByRole('button', { name }),
        shows: (names: readonly string[]) =>
          eventually(`the worlds ${names}`, async () => {
            const seen = (await table.getByRole('link').allTextContents()).toSorted()
            if (seen.join() === names.join()) return true
            throw new Error(`the page shows ${seen}`)
          }),
        usedOnly: async () => {
          const isMouse = way === 'mouse'
          expect((await clicks()) > 0).toBe(isMouse)
        },
      }
    }

    test('a world is found by a part of its name, id, label, map, build, reason or address', async () => {
      const { page, press, write, filter, world, shows, usedOnly } = await open()
      const { lobby, arena } = fleet.worlds
      for (const [part, name] of [
        ['obb', 'Lobby'],
        [lobby.slice(-9), 'Lobby'],
        ['events', 'Lobby'],
        ['dus', 'Arena'],
        ['live:v', 'Arena'],
        ['0.0.7', 'Arena'],
        ['pullfailed', 'Quarry'],
      ] as const) {
        await write(filter, part)
        await shows([name])
      }
      await write(filter, 'dust')
      await press(world('Arena'))
      await page.getByRole('heading', { name: 'Arena' }).waitFor()
      expect(page.url()).toContain(arena)
      await usedOnly()
    })

    test('why a world does not run, and what to do, is on its first screen', async () => {
      const { page, press, world, button, panel, usedOnly } = await open()
      await press(button(/1 world: OutOfMemory/))
      await press(world('Forge'))
      const why = page.getByRole('region', { name: 'Why' })
      const sentence = why.getByText(/^Forge .* memory/)
      const advice = why.getByRole('link', { name: /^Choose a/ })
      for (const each of [sentence, advice]) {
        await each.waitFor()
        const { y = 0, height = 0 } = (await each.boundingBox()) ?? {}
        expect(y).toBeGreaterThanOrEqual(0)
        expect(y + height).toBeLessThanOrEqual(page.viewportSize()?.height ?? 0)
      }
      await press(advice)
      await panel.locator('select:focus').waitFor()
      await usedOnly()
    })

    test('many worlds are started, their launch is watched, and they are stopped', async () => {
      const labels = { job: way.slice(0, 5) }
      const ids: string[] = []
      for (const name of ['Tower 1', 'Tower 2', 'Tower 3', 'Tower 4'])
        ids.push(await fleet.tenant.world({ name, metadata: { labels } }))
      const { page, press, write, selectRows, filter, button, usedOnly } = await open()
      const box = (name: string) => page.getByRole('checkbox', { name: `Select ${name}` })
      const dialog = page.getByRole('dialog')
      await write(filter, `label:job=${labels.job}`)
      await box('Tower 4').waitFor()
      await selectRows(box('Tower 1'), box('Tower 4'), 4)
      await press(button('Start 4'))
      await press(dialog.getByRole('button', { name: 'Start 4 worlds' }))
      await dialog.getByRole('heading', { name: '4 starts accepted' }).waitFor()
      await press(dialog.getByRole('link', { name: 'Watch the launch' }))
      await page.getByRole('heading', { name: '0 of 4 runs are active' }).waitFor()
      for (const id of ids.slice(1)) {
        await fleet.podOf(id).exists()
        await fleet.podOf(id).becomesReady()
      }
      await page.getByRole('heading', { name: '3 of 4 runs are active' }).waitFor()
      await page.getByText('Of 3 runs that are ready. Not in the figures: 1 still starts.').waitFor()
      const slowest = page.getByRole('region', { name: 'Table of the slowest starts' })
      await slowest.getByRole('row').filter({ hasText: 'Tower 1' }).getByText('so far').waitFor()
      // The filter of the launch stays, and so does the selection.
      await press(page.getByRole('link', { name: 'Worlds', exact: true }))
      await press(button('Stop 4'))
      await press(dialog.getByRole('button', { name: 'Stop 4 worlds' }))
      await dialog.getByRole('heading', { name: '4 worlds stopped' }).waitFor()
      await Promise.all(ids.map((id) => fleet.has(id, 'Stopped', ({ phase }) => phase === 'Stopped')))
      await usedOnly()
    })

    test('the log, the events, the runs and who changed what are read', async () => {
      const { page, press, openTab, world, button, panel, usedOnly } = await open()
      await press(world('Arena'))
      await page.getByRole('heading', { name: 'Arena' }).waitFor()
      await openTab('Runs')
      await panel.getByRole('row').filter({ hasText: 'Running' }).waitFor()
      await openTab('Logs')
      await panel.getByText('the server says hello').waitFor()
      await openTab('Events')
      await panel.getByRole('row').filter({ hasText: 'Started' }).first().waitFor()
      await openTab('History')
      const start = panel.getByRole('row').filter({ hasText: 'startWorld' })
      await start.getByText('Platform key').waitFor()
      await start.getByText('REST').waitFor()
      await press(button('Sign out'))
      await page.getByLabel('API key').waitFor()
      await usedOnly()
    })
  })
})
