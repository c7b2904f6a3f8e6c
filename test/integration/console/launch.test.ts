import { afterAll, beforeAll, expect, test } from 'vitest'
import { aCluster } from '#test/support/cluster.ts'
import { aConsole, type ConsolePage, describeConsole } from '#test/support/consolePage.ts'
import { eventually } from '#test/support/wait.ts'
import { type Fleet, startFleet } from './fleet.ts'

/** A name that would run, and that turns the direction of text. */
const hostileName = '<img src=x onerror=alert(1)> \u202egnp'

describeConsole('the launch page of the console', () => {
  let fleet: Fleet
  let vault: string
  let cellar: string
  // Lobby never ran, Arena is ready, Quarry and Forge start. Vault finds no node, and Cellar fails for good.
  beforeAll(async () => {
    fleet = await startFleet()
    const { tenant, podOf, start, has } = fleet
    vault = await tenant.world({ name: hostileName, metadata: { labels: { team: 'events' } } })
    cellar = await tenant.world({ name: 'Cellar' })
    await Promise.all([start(vault), start(cellar)])
    await podOf(vault).fitsNowhere('0/3 nodes are available')
    await Promise.all([
      has(vault, 'without a node', ({ message }) => message.includes('No node')),
      eventually('Cellar used up its restarts', async () => {
        if ((await podOf(cellar).find()) !== undefined) await podOf(cellar).exits(1)
        const { body } = await tenant.rest.call<{ status: { phase: string } }>('GET', `/api/worlds/${cellar}/`)
        return body.status.phase === 'Error'
      }),
    ])
  })
  afterAll(() => fleet?.stop())
  const consoles = aConsole(() => fleet.origin)

  const pathOf = (query = ''): string => `organizations/${fleet.tenant.scope.organizationId}/launch/${query}`
  const using = (opened: ConsolePage) => {
    const stages = opened.page.getByRole('region', { name: / active$/ })
    return {
      ...opened,
      stages,
      slowest: opened.page.getByRole('region', { name: 'Table of the slowest starts' }),
      /** Waits until the stages have these counts. */
      counts: (...wanted: [pending: number, starting: number, active: number, error: number, ended: number]) =>
        eventually(`the counts ${wanted}`, async () => {
          const seen = (await stages.locator('li strong').allTextContents()).join()
          if (seen === wanted.join()) return true
          throw new Error(`the page shows ${seen}`)
        }),
    }
  }
  const openLaunch = async (query = '') => {
    const opened = await consoles.open({ path: pathOf(query) })
    await opened.signIn(fleet.reader)
    // The pointer is where the form was, which may be over the table.
    await opened.page.mouse.move(0, 0)
    await opened.page.getByRole('heading', { name: 'Launch' }).waitFor()
    return using(opened)
  }

  test('shows the stages of the runs, their times and their reasons, and leads to the worlds', async () => {
    const { page, counts, stages, slowest } = await openLaunch()
    await counts(1, 2, 1, 1, 0)
    await page.getByRole('heading', { name: '1 of 5 runs is active' }).waitFor()
    const times = page.getByRole('region', { name: 'Start times' })
    await times.getByText('Of 1 run that is ready. Not in the figures: 3 still start, 1 failed.').waitFor()
    await times.getByText('Start times as a table').click()
    expect(await times.getByRole('cell').allTextContents()).toContain('1')
    const row = slowest.getByRole('row').filter({ hasText: 'Unschedulable' })
    await row.filter({ hasText: 'so far' }).filter({ hasText: '<img src=x onerror=alert(1)> ⟨U+202E⟩gnp' }).waitFor()
    const names = await slowest.getByRole('link').allTextContents()
    expect(names.toSorted()).toEqual([expect.stringContaining('img'), 'Arena', 'Forge', 'Quarry'])
    await page.getByRole('region', { name: 'Reasons' }).getByText('1 run: Unschedulable').waitFor()

    await stages.getByRole('link', { name: 'Error 1' }).click()
    await page.getByRole('table', { name: 'Worlds' }).getByRole('link', { name: 'Cellar' }).waitFor()
    expect(new URL(page.url()).searchParams.get('q')).toMatch(/^phase:Error started:20.*Z$/)
    await page.goBack()
    await slowest.getByRole('link', { name: 'Quarry' }).click()
    await page.getByRole('heading', { name: 'Quarry' }).waitFor()
    await page.goBack()
    await counts(1, 2, 1, 1, 0)
  })

  test('follows the filter and the time in the URL, and a copied URL shows the same', async () => {
    const { page, counts } = await openLaunch('?q=team%3Devents')
    await counts(1, 0, 0, 0, 0)
    await page.getByRole('searchbox', { name: 'Filter' }).fill('name:arena')
    await counts(0, 0, 1, 0, 0)
    await page.getByRole('button', { name: 'From now on' }).click()
    await page.getByText('The 1 world that matches the filter has no run that was requested since').waitFor()
    const { pathname, search, searchParams } = new URL(page.url())
    expect(searchParams.get('since')).toMatch(/^20.*Z$/)
    expect(`${pathname}${search}`).toContain('q=name%3Aarena')

    const other = using(await consoles.open({ path: `${pathname.replace('/console/', '')}${search}` }))
    await other.signIn(fleet.reader)
    await other.page.getByRole('button', { name: 'Show all present runs' }).click()
    await other.counts(0, 0, 1, 0, 0)
    await other.page.getByLabel('Requested', { exact: true }).selectOption('Last 15 minutes')
    await other.counts(0, 0, 1, 0, 0)
    expect(new URL(other.page.url()).searchParams.get('since')).toBe('15m')
    await other.page.getByRole('searchbox', { name: 'Filter' }).fill('nowhere')
    await other.page.getByText('No world matches the filter.').waitFor()
  })

  test('says that the time in a URL is none, and counts the last hour', async () => {
    const { page, counts } = await openLaunch('?since=%3Cb%3Eyesterday')
    await page.getByText('<b>yesterday is not a time. Use 15m, 1h, 1d, all or an instant').waitFor()
    await counts(1, 2, 1, 1, 0)
    expect(await page.getByLabel('Requested', { exact: true }).inputValue()).toBe('1h')
  })

  test.each([
    ['light', 1280],
    ['dark', 320],
  ] as const)('in %s colours, %i pixels wide, fits and has no violation that axe finds', async (colorScheme, width) => {
    const { page, violations } = await consoles.openForAxe({ path: pathOf(), colorScheme, width })
    await page.getByLabel('API key').fill(fleet.reader)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: '1 of 5 runs is active' }).waitFor()
    for (const name of ['Start times', 'Progress']) await page.getByText(`${name} as a table`).click()
    expect(await violations()).toEqual([])
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
  })

  // The last tests change the worlds.
  test('follows each change live, without a request, and moves no row under the pointer', async () => {
    const { page, counts, slowest, requests } = await openLaunch()
    await counts(1, 2, 1, 1, 0)
    const before = [...requests]
    const names = () => slowest.getByRole('link').allTextContents()
    await slowest.getByRole('link', { name: 'Quarry' }).hover()
    const held = await names()
    await fleet.podOf(vault).becomesReady({ ip: '10.0.0.8' })
    await counts(0, 2, 2, 1, 0)
    await fleet.tenant.rest.call('POST', `/api/worlds/${fleet.worlds.quarry}/stop/`)
    await counts(0, 1, 2, 1, 1)
    await slowest.getByRole('row').filter({ hasText: 'Quarry' }).filter({ hasText: 'Ended' }).waitFor()
    expect(await names()).toEqual(held)
    await fleet.tenant.rest.call('DELETE', `/api/worlds/${fleet.worlds.quarry}/`)
    await slowest.getByText('This world was deleted.').waitFor()
    await page.getByRole('heading', { name: 'Launch' }).hover()
    await slowest.getByText('This world was deleted.').waitFor({ state: 'detached' })
    await counts(0, 1, 2, 1, 0)
    await page.getByText('Of 2 runs that are ready. Not in the figures: 1 still starts, 1 failed.').waitFor()
    expect(requests).toEqual(before)
  })

  test('counts a start that waits for a limit beside the runs, and leads to its world', async () => {
    const { organizationId } = fleet.tenant.scope
    const { page, counts } = await openLaunch('?q=name:lobby')
    await page.getByText('The 1 world that matches the filter has no run').waitFor()
    await fleet.tenant.rest.call('PATCH', `/api/organizations/${organizationId}/limits/`, { maxRunningCapacity: 1 })
    const cluster = aCluster()
    const { lobby } = fleet.worlds
    await cluster.world(`orrery-${organizationId}`, lobby).exists()
    await cluster.worlds.patch({ namespace: `orrery-${organizationId}`, name: lobby }, { spec: { state: 'Running' } })
    await page.getByText('1 start waits for a limit.').waitFor()
    await page.getByRole('searchbox', { name: 'Filter' }).fill('')
    await counts(0, 1, 2, 1, 0)
    await page.getByRole('link', { name: '1 start' }).click()
    await page.getByRole('table', { name: 'Worlds' }).getByRole('link', { name: 'Lobby' }).waitFor()
    await cluster.close()
  })
})
