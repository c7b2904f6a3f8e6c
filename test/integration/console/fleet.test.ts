import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { aConsole, describeConsole } from '#test/support/consolePage.ts'
import { expectWithin } from '#test/support/timing.ts'
import { eventually } from '#test/support/wait.ts'
import { type Fleet, startFleet } from './fleet.ts'

describeConsole('the fleet in the console', () => {
  let fleet: Fleet
  beforeAll(async () => {
    fleet = await startFleet()
  })
  afterAll(() => fleet?.stop())
  const consoles = aConsole(() => fleet.origin)
  afterEach(() => fleet.patch(fleet.worlds.lobby, { name: 'Lobby' }))

  /** Opens the fleet of a key that may read it, with the rows that a test needs. */
  const openFleet = async (path = '', mayLog: readonly RegExp[] = []) => {
    const opened = await consoles.open({ path, mayLog })
    await opened.signIn(fleet.reader)
    // The pointer is where the form was, which may be over the table.
    await opened.page.mouse.move(0, 0)
    const { page } = opened
    const filter = page.getByRole('searchbox', { name: 'Filter' })
    const row = (name: string) => page.getByRole('row').filter({ has: page.getByRole('link', { name, exact: true }) })
    await page.getByRole('status').getByText('Live').waitFor()
    return {
      ...opened,
      filter,
      row,
      /** Waits until the table has these worlds, in this order unless `inAnyOrder`. */
      shows: (names: readonly string[], { inAnyOrder = false } = {}) =>
        eventually(`the worlds ${names}`, async () => {
          const seen = await page.getByRole('table', { name: 'Worlds' }).getByRole('link').allTextContents()
          const [is, wanted] = inAnyOrder ? [seen.toSorted(), names.toSorted()] : [seen, names]
          if (is.join() === wanted.join()) return true
          throw new Error(`the page shows ${seen}`)
        }),
    }
  }
  const all = ['Arena', 'Forge', 'Lobby', 'Quarry']

  test('finds a world by what its reader knows of it', async () => {
    const { filter, shows } = await openFleet()
    const { worlds } = fleet
    for (const [text, names] of [
      ['obb', ['Lobby']],
      [worlds.arena, ['Arena']],
      [`id:${worlds.lobby.slice(-8)}`, ['Lobby']],
      ['team=events', ['Lobby']],
      ['label:team=events', ['Lobby']],
      ['map:dust', ['Arena']],
      ['dus', ['Arena']],
      ['build:live:v7', ['Arena']],
      ['imagepull', ['Quarry']],
      ['reason:ImagePullFailed,OutOfMemory', ['Forge', 'Quarry']],
      ['10.0.0.7', ['Arena']],
      ['-phase:Starting -lobby', ['Arena']],
      ['', all],
    ] as const) {
      await filter.fill(text)
      await shows(names, { inAnyOrder: true })
    }
  })

  test('says that nothing matches, and which word of the filter it does not know', async () => {
    const { page, filter, shows } = await openFleet()
    await filter.fill('phsae:Active')
    await page.getByText('No world matches the filter.').waitFor()
    await page.getByText('phsae is not a key').waitFor()
    await page.getByRole('button', { name: 'Show all' }).click()
    await shows(all, { inAnyOrder: true })
    expect(await filter.inputValue()).toBe('')
  })

  test('filters by a phase and by a reason on a click, and a copied URL shows the same', async () => {
    const { page, filter, shows } = await openFleet()
    const phase = page.getByRole('region', { name: 'Worlds by phase' }).getByRole('button', { name: /Starting/ })
    await phase.filter({ hasText: '2' }).click()
    await shows(['Forge', 'Quarry'], { inAnyOrder: true })
    const reason = page.getByRole('region', { name: 'Reasons' }).getByRole('button', { name: /1 world: Out/ })
    await filter.fill('label:team=events')
    await phase.filter({ hasText: '0' }).waitFor()
    await reason.click()
    await shows(['Forge'])
    await phase.filter({ hasText: '1' }).click()
    await page.waitForURL(({ searchParams }) => searchParams.get('q') === 'reason:OutOfMemory phase:Starting')
    const url = new URL(page.url())

    const other = await openFleet(`${url.pathname.replace('/console/', '')}${url.search}`)
    await other.shows(['Forge'])
    await reason.click()
    await page.waitForURL(({ searchParams }) => searchParams.get('q') === 'reason:OutOfMemory')
    await reason.click()
    await shows(all, { inAnyOrder: true })
  })

  test('says why no world matches', async () => {
    const { page, filter } = await openFleet()
    await filter.fill('label:team=events label:team=ranked')
    await page.getByText('Write label:team=events,ranked for either.').waitFor()
    await filter.fill('label:taem=events')
    await page.getByText('No world has the label taem.').waitFor()
  })

  test('shows ids in a column, and Escape closes the menu of columns', async () => {
    const { page, row } = await openFleet()
    const menu = page.getByText('Columns', { exact: true })
    await menu.click()
    await page.getByLabel('Id', { exact: true }).check()
    await row('Arena').getByText(fleet.worlds.arena).waitFor()
    await page.keyboard.press('Escape')
    await page.getByLabel('Id', { exact: true }).waitFor({ state: 'hidden' })
    await page.locator('summary:focus').waitFor()
    await menu.click()
    await page.getByRole('searchbox', { name: 'Filter' }).click()
    await page.getByLabel('Id', { exact: true }).waitFor({ state: 'hidden' })
  })

  test('has each head above its column, and lines up to the edge, with few rows and with many', async () => {
    const { page, row } = await openFleet()
    await row('Arena').waitFor()
    const edges = (cells: string) =>
      page.locator(cells).evaluateAll((each) => each.map((one) => Math.round(one.getBoundingClientRect().left)))
    const isAligned = () =>
      eventually('heads above their columns', async () => {
        const heads = await edges('.head .cell')
        const cells = (await edges('.world-rows .cell')).slice(0, heads.length)
        if (heads.join() === cells.join()) return true
        throw new Error(`${heads} and ${cells}`)
      })
    await isAligned()
    const [table, line] = [await page.getByRole('table').boundingBox(), await row('Arena').boundingBox()]
    expect((table?.width ?? 0) - (line?.width ?? 0)).toBe(2)
    await page
      .getByRole('table')
      .evaluate((each) => Object.assign(each.style, { flex: 'none', minHeight: 0, height: '120px' }))
    await page.locator('.head.is-scrolled').waitFor()
    await isAligned()
  })

  describe('changes in place', () => {
    test('by REST and by the operator, with no further request', async () => {
      const { page, row, requests, filter } = await openFleet()
      await filter.fill('team=events')
      const id = await fleet.tenant.world({ name: 'Garden', metadata: { labels: { team: 'events' } } })
      const garden = row('Garden')
      await garden.filter({ hasText: '○ Inactive' }).waitFor()
      const before = [...requests]
      await page.evaluate('window.isSame = true')
      await fleet.start(id)
      await garden.filter({ hasText: '◐ Starting' }).waitFor()
      await fleet.podOf(id).becomesReady({ ip: '10.0.0.9' })
      await garden.filter({ hasText: '● Active' }).waitFor()
      await garden.filter({ hasText: '10.0.0.9' }).waitFor()
      await fleet.patch(id, { name: 'Park' })
      await row('Park').filter({ hasText: '● Active' }).waitFor()
      await fleet.patch(id, { metadata: { annotations: {}, labels: { team: 'ops' } } })
      await row('Park').waitFor({ state: 'detached' })
      await filter.fill('team=ops')
      await row('Park').waitFor()
      await fleet.tenant.rest.call('DELETE', `/api/worlds/${id}/`)
      await page.getByText('No world matches the filter.').waitFor()
      expect(requests).toEqual(before)
      expect(requests.filter((each) => each.startsWith('GET /api/worlds'))).toEqual([])
      expect(await page.evaluate('window.isSame')).toBe(true)
    })

    test('by the players and restarts that the operator reports, which also sort and filter', async () => {
      const { page, row, shows, filter, requests } = await openFleet('?columns=name,players,restarts&sort=-players')
      const { worlds, kubectl } = fleet
      const players = row('Arena').getByRole('cell').nth(2)
      await players.getByText('—').waitFor()
      const before = [...requests]
      const patch = JSON.stringify({ status: { queue: { active: 12, queued: 3 } } })
      kubectl('patch', 'world', worlds.arena, '--subresource=status', '--type=merge', '-p', patch)
      await players.getByText('12 of 30, 3 wait').waitFor()
      await filter.fill('players:>11')
      await shows(['Arena'])
      await filter.fill('restarts:>0')
      await shows(['Forge'])
      await filter.fill('')
      await shows(['Arena', 'Forge', 'Lobby', 'Quarry'], { inAnyOrder: true })
      const first = page.getByRole('rowgroup').getByRole('link').first()
      await eventually('Arena is first', async () => (await first.textContent()) === 'Arena')
      expect(requests).toEqual(before)
    })

    test('but moves no row under the pointer until the user asks for it', async () => {
      const { page, row, shows } = await openFleet('?sort=name')
      await shows(all)
      await row('Forge').hover()
      await fleet.patch(fleet.worlds.lobby, { name: 'Annex' })
      const again = page.getByRole('button', { name: '1 change, sort again' })
      await again.waitFor()
      await shows(['Arena', 'Forge', 'Annex', 'Quarry'])
      await again.click()
      await shows(['Annex', 'Arena', 'Forge', 'Quarry'])
    })

    test('and moves no row while the keyboard is in the table', async () => {
      const { page, row, shows } = await openFleet('?sort=name')
      await row('Forge').getByRole('link').focus()
      await fleet.patch(fleet.worlds.lobby, { name: 'Annex' })
      await page.getByRole('button', { name: '1 change, sort again' }).waitFor()
      await shows(['Arena', 'Forge', 'Annex', 'Quarry'])
      await page.getByRole('searchbox', { name: 'Filter' }).focus()
      await shows(['Annex', 'Arena', 'Forge', 'Quarry'])
    })
  })

  describe('without a connection', () => {
    // The client asks why an upgrade was refused. By then it may be allowed, which is 426.
    const lost = [/WebSocket connection to .* failed/, /api\/realtime\/(connect|tickets)/]
    test('says so, and misses nothing afterwards', async () => {
      const { page, row, requests, shows } = await openFleet('?sort=name', lost)
      await shows(all)
      const before = [...requests]
      fleet.gate.close()
      await page.getByRole('alert').getByText('Not live since').waitFor()
      await fleet.patch(fleet.worlds.lobby, { name: 'Annex' })
      expect(await row('Lobby').count()).toBe(1)
      await page.getByRole('button', { name: 'Try now' }).click()
      fleet.gate.open()
      await page.getByRole('status').getByText('Live').waitFor()
      await shows(['Annex', 'Arena', 'Forge', 'Quarry'])
      expect(requests).toEqual(before)
    })

    test('that still looks open says so within 10 s', async () => {
      const { page, shows } = await openFleet('?sort=name', lost)
      await shows(all)
      const startedMs = performance.now()
      const end = fleet.gate.fallSilent()
      await page.getByRole('alert').getByText('Not live since').waitFor()
      expectWithin(performance.now() - startedMs, 10_000)
      end()
      await page.getByRole('status').getByText('Live').waitFor()
      await shows(all)
    })
  })
})
