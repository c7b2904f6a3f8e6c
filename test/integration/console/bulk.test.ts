import type { Locator, Page, Route } from 'playwright-core'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { aConsole, describeConsole } from '#test/support/consolePage.ts'
import type { WorldBody } from '#test/support/rest.ts'
import { eventually } from '#test/support/wait.ts'
import { type Fleet, startFleet } from './fleet.ts'

describeConsole('actions on many worlds in the console', () => {
  let fleet: Fleet
  beforeAll(async () => {
    fleet = await startFleet()
  })
  afterAll(() => fleet?.stop())
  const consoles = aConsole(() => fleet.origin)

  let sets = 0
  /** Creates worlds with these names, and a filter that selects only them. */
  const aSet = async (names: readonly string[], body: object = {}) => {
    sets += 1
    const labels = { set: `s${sets}` }
    const ids: string[] = []
    for (const name of names) ids.push(await fleet.tenant.world({ name, metadata: { labels }, ...body }))
    return { ids, filter: `label:set=s${sets}` }
  }
  const phaseOf = async (id: string): Promise<string> => {
    const { status, body } = await fleet.tenant.rest.call<WorldBody>('GET', `/api/worlds/${id}/`)
    return status === 404 ? 'deleted' : body.status.phase
  }
  const phasesOf = (ids: readonly string[]): Promise<string[]> => Promise.all(ids.map(phaseOf))
  const limit = (maxRunningCapacity: number) =>
    fleet.tenant.rest.call('PATCH', `/api/organizations/${fleet.tenant.scope.organizationId}/limits/`, {
      maxRunningCapacity,
    })

  const piecesOf = (page: Page) => {
    const bar = page.getByRole('region', { name: 'Selection' })
    // The role has only an open dialog. The element is gone a moment later.
    const dialog = page.locator('dialog')
    return {
      bar,
      dialog,
      line: page.getByRole('region', { name: 'Action on many worlds' }),
      filter: page.getByRole('searchbox', { name: 'Filter' }),
      box: (name: string) => page.getByRole('checkbox', { name: `Select ${name}`, exact: true }),
      act: (name: string) => bar.getByRole('button', { name, exact: true }),
      button: (name: string | RegExp) => dialog.getByRole('button', { name }),
      title: (text: string) => dialog.getByRole('heading').getByText(text, { exact: true }).waitFor(),
      /** Waits until the page says that so many worlds are selected. */
      says: (text: string) => bar.getByRole('status').getByText(text, { exact: true }).waitFor(),
      /** Waits until exactly these worlds are selected. */
      isSelected: (names: readonly string[]) =>
        eventually(`the selection of ${names}`, async () => {
          const checked = page.getByRole('table', { name: 'Worlds' }).locator('[data-world]:checked')
          const labels = await checked.evaluateAll((each) => each.map((box) => box.getAttribute('aria-label')))
          if (labels.join() === names.map((name) => `Select ${name}`).join()) return true
          throw new Error(`selected: ${labels}`)
        }),
    }
  }
  const open = async (filter: string, { apiKey = fleet.writer, mayLog = [] as RegExp[], width = 1280 } = {}) => {
    const path = `?sort=name&q=${encodeURIComponent(filter)}`
    const opened = await consoles.open({ path, mayLog, width })
    const { page, requests, signIn } = opened
    await signIn(apiKey)
    await page.getByRole('status').getByText('Live').waitFor()
    const posts = () => requests.filter((each) => each === 'POST /api/worlds/actions/').length
    return { page, posts, signIn, ...piecesOf(page) }
  }

  test('says what will happen, then starts and stops them, and the rows follow', async () => {
    const { ids, filter } = await aSet(['A1', 'A2', 'A3'])
    await fleet.start(ids[0] ?? '')
    const { page, posts, bar, act, dialog, button, title, line } = await open(filter)
    await page.getByRole('row').filter({ hasText: 'A1' }).filter({ hasText: '◐ Starting' }).waitFor()
    await bar.getByRole('button', { name: 'Select all 3 that match' }).click()
    await act('Start 2').click()
    await title('Start 2 worlds?')
    await dialog.getByText('Start 2 of 3 worlds: 1 runs already.').waitFor()
    await dialog.getByText('Left as it is: 1 runs already').click()
    await dialog.getByRole('listitem').getByText('A1').waitFor()
    await dialog.getByText('The same as commands').click()
    await dialog.getByText('"$API/api/worlds/actions/"').waitFor()
    expect(posts()).toBe(0)
    await button('Start 2 worlds').click()
    await title('2 starts accepted')
    expect(await phasesOf(ids)).toEqual(['Starting', 'Starting', 'Starting'])
    const launch = await dialog.getByRole('link', { name: 'Watch the launch' }).getAttribute('href')
    const { searchParams, pathname } = new URL(launch ?? '', fleet.origin)
    expect(pathname).toMatch(/\/launch\/$/)
    expect(searchParams.get('q')).toMatch(/^id:wld-\w+,wld-\w+$/)
    expect(Date.parse(searchParams.get('since') ?? '')).toBeGreaterThan(0)
    await button('Close').click()
    await dialog.waitFor({ state: 'detached' })
    await act('Start 0').and(page.locator(':focus')).waitFor()
    expect(await line.count()).toBe(0)

    await act('Stop 3').click()
    await button('Stop 3 worlds').click()
    await title('3 worlds stopped')
    await button('Close').click()
    await act('Start 3').waitFor()
    expect(await phasesOf(ids)).toEqual(['Stopped', 'Stopped', 'Stopped'])
    expect(posts()).toBe(2)
  })

  test('says which worlds failed and why, and repeats only those', async () => {
    const good = await aSet(['A1', 'A2'])
    const bad = await aSet(['B1'], { runtime: { build: { channelId: 'absent', tag: 'v1' } } })
    onTestFinished(async () => void (await limit(100_000)))
    const { page, bar, act, dialog, button, title } = await open(`${good.filter},set=s${sets}`)
    await bar.getByRole('button', { name: 'Select all 3 that match' }).click()
    await limit(1)
    await act('Start 3').click()
    await button('Start 3 worlds').click()
    await title('0 of 3 starts accepted: 3 failed')
    const failure = (name: string): Locator => dialog.getByRole('region', { name })
    await failure('2 failed: A limit of the organization is reached').getByText('maxRunningCapacity').waitFor()
    const unresolved = failure('1 failed: The build cannot be resolved')
    await unresolved.getByText('1 world', { exact: true }).click()
    await unresolved.getByRole('link', { name: 'B1' }).waitFor()
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await button('Copy as Markdown').click()
    await dialog.getByText('Copied', { exact: true }).waitFor()
    const report = await page.evaluate<string>('navigator.clipboard.readText()')
    expect(report).toContain('## 0 of 3 starts accepted: 3 failed\n\n### 2 failed: A limit')
    expect(report).toContain(`- B1 (${bad.ids[0]})`)
    await limit(100_000)
    await button('Repeat the 3 that failed').click()
    await title('Start 3 worlds?')
    await button('Start 3 worlds').click()
    await title('2 of 3 starts accepted: 1 failed')
    expect(await phasesOf([...good.ids, ...bad.ids])).toEqual(['Starting', 'Starting', 'Inactive'])
    await unresolved.getByText('1 world', { exact: true }).click()
    await unresolved.getByRole('link', { name: 'B1' }).click()
    await page.getByRole('heading', { name: 'B1' }).waitFor()
    await dialog.waitFor({ state: 'detached' })
    // The result stays until it is dismissed.
    await page.getByText('2 of 3 starts accepted: 1 failed').waitFor()
    await page.getByRole('button', { name: 'Dismiss' }).click()
    await page.locator('#main').and(page.locator(':focus')).waitFor()
    await page.getByText('2 of 3 starts accepted: 1 failed').waitFor({ state: 'detached' })
  })

  test('goes on in the background, and stops when the user says so', async () => {
    const { ids, filter } = await aSet(['A1', 'A2'])
    const { page, bar, act, dialog, button, title, line } = await open(filter, { mayLog: [/status of 429/] })
    let isBusy = true
    await page.route('**/api/worlds/actions/', (route) =>
      isBusy
        ? route.fulfill({
            status: 429,
            headers: { 'retry-after': '20' },
            json: { code: 'rate_limited', detail: 'Another bulk action of the organization is in progress.' },
          })
        : route.fallback(),
    )
    await bar.getByRole('button', { name: 'Select all 2 that match' }).click()
    await act('Start 2').click()
    await button('Start 2 worlds').click()
    await title('Starting 2 worlds')
    await dialog.getByText(/Next request in \d/).waitFor()
    const warns = () => page.evaluate<boolean>("!dispatchEvent(new Event('beforeunload', { cancelable: true }))")
    expect(await warns()).toBe(true)
    await button('Continue in the background').click()
    await page.getByRole('link', { name: 'A1' }).click()
    await page.getByRole('heading', { name: 'A1' }).waitFor()
    await line.getByText('0 of 2').waitFor()
    await line.getByRole('button', { name: 'Show' }).click()
    await button('Stop sending').click()
    await title('0 of 2 starts accepted: 2 not sent')
    expect(await warns()).toBe(false)
    expect(await phasesOf(ids)).toEqual(['Inactive', 'Inactive'])
    isBusy = false
    await button('Send the 2 that were not sent').click()
    await title('Start 2 worlds?')
    await button('Start 2 worlds').click()
    await title('2 starts accepted')
    expect(await phasesOf(ids)).toEqual(['Starting', 'Starting'])
  })

  test('by keyboard alone, a deletion wants the number typed', async () => {
    const { ids, filter } = await aSet(['A1', 'A2', 'A3'])
    const { page, box, dialog, button, title, isSelected, posts } = await open(filter)
    const { keyboard } = page
    const focused = page.locator(':focus')
    const tabTo = async (target: Locator): Promise<void> => {
      for (let presses = 0; presses < 60; presses += 1) {
        if ((await target.and(focused).count()) > 0) return
        await keyboard.press('Tab')
      }
      throw new Error(`60 presses of Tab do not reach ${target}`)
    }
    await tabTo(box('A1'))
    await keyboard.press('Space')
    await keyboard.press('ArrowDown')
    await keyboard.press('ArrowDown')
    await keyboard.press('Shift+Space')
    await isSelected(['A1', 'A2', 'A3'])
    await keyboard.press('Escape')
    await isSelected([])
    await keyboard.press('ArrowUp')
    await keyboard.press('Shift+ArrowUp')
    await isSelected(['A1', 'A2'])
    await keyboard.press('Enter')
    expect(await page.getByRole('button', { name: 'Start 2' }).and(focused).count()).toBe(1)
    await keyboard.press('Enter')
    await button('Start 2 worlds').and(focused).waitFor()
    await keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await tabTo(page.getByRole('button', { name: 'Delete 2' }))
    expect(await dialog.count()).toBe(0)
    await keyboard.press('Enter')
    await title('Delete 2 worlds?')
    await keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await isSelected(['A1', 'A2'])
    await keyboard.press('Enter')
    await dialog.getByLabel('Type 2 to delete 2 worlds').and(focused).waitFor()
    await keyboard.type('3')
    await keyboard.press('Enter')
    await dialog.getByText('The number of worlds is 2. Nothing was deleted.').waitFor()
    expect(await dialog.getByRole('textbox').getAttribute('aria-invalid')).toBe('true')
    expect(await button('Delete 2 worlds').isDisabled()).toBe(true)
    expect(posts()).toBe(0)
    await keyboard.press('Backspace')
    await keyboard.type('2')
    await keyboard.press('Enter')
    await title('2 worlds deleted')
    expect(await phasesOf(ids)).toEqual(['deleted', 'deleted', 'Inactive'])
    await keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await tabTo(box('A3'))
  })

  test('a deletion says which worlds run now, and asks again if others run when it is confirmed', async () => {
    const { ids, filter } = await aSet(['A1', 'A2', 'A3'])
    const { page, posts, bar, act, dialog, button, title } = await open(`phase:Inactive ${filter}`)
    await bar.getByRole('button', { name: 'Select all 3 that match' }).click()
    const showsStarting = (name: string) =>
      page.locator('[role=row]').filter({ hasText: name }).filter({ hasText: '◐ Starting' }).waitFor()
    await fleet.start(ids[0] ?? '')
    await showsStarting('A1')
    await act('Delete 3').click()
    await title('Delete 3 worlds?')
    await dialog.getByText('1 no longer matches the filter').waitFor()
    await dialog.getByText('1 of them runs').click()
    await dialog.getByRole('listitem').getByText('A1').waitFor()
    const number = dialog.getByLabel('Type 3 to delete 3 worlds')
    await number.fill('3')
    await fleet.start(ids[1] ?? '')
    await showsStarting('A2')
    await button('Delete 3 worlds').click()
    await dialog.getByText('The worlds have changed').waitFor()
    await dialog.getByText('2 of them run').waitFor()
    expect(await number.inputValue()).toBe('')
    expect(posts()).toBe(0)
    await number.fill('3')
    await button('Delete 3 worlds').click()
    await title('3 worlds deleted')
    expect(await phasesOf(ids)).toEqual(['deleted', 'deleted', 'deleted'])
  })

  test('a repeated deletion asks for the number again', async () => {
    const { ids, filter } = await aSet(['A1', 'A2'])
    const { page, posts, bar, act, dialog, button, title } = await open(filter)
    const problem = { status: 409, code: 'conflict', detail: 'Not now.' }
    const results = ids.map((worldId) => ({ worldId, ...problem }))
    await page.route('**/api/worlds/actions/', (route) => route.fulfill({ json: { results } }), { times: 1 })
    await bar.getByRole('button', { name: 'Select all 2 that match' }).click()
    await act('Delete 2').click()
    const number = dialog.getByLabel('Type 2 to delete 2 worlds')
    await number.fill('2')
    await button('Delete 2 worlds').click()
    await title('0 of 2 worlds deleted: 2 failed')
    await button('Repeat the 2 that failed').click()
    await title('Delete 2 worlds?')
    await button('Delete 2 worlds').click({ force: true })
    await dialog.getByText('The number of worlds is 2. Nothing was deleted.').waitFor()
    expect(posts()).toBe(1)
    await number.fill('2')
    await button('Delete 2 worlds').click()
    await title('2 worlds deleted')
    expect(await phasesOf(ids)).toEqual(['deleted', 'deleted'])
  })

  test('after a lost answer, a restart is repeated only for worlds without a new run, and only after a plan', async () => {
    const { ids, filter } = await aSet(['A1', 'A2'])
    for (const id of ids) await fleet.start(id)
    const { page, posts, bar, act, dialog, button, title } = await open(filter, { mayLog: [/ERR_FAILED/] })
    const runOf = async (id = ''): Promise<unknown> =>
      (await fleet.tenant.rest.call<WorldBody>('GET', `/api/worlds/${id}/`)).body.status.runId
    const before = await Promise.all(ids.map(runOf))
    const loseAnswer = async (route: Route): Promise<void> => {
      await route.fetch({ postData: JSON.stringify({ action: 'restart', ids: [ids[0]] }) })
      await route.abort()
    }
    await page.route('**/api/worlds/actions/', loseAnswer, { times: 1 })
    await bar.getByRole('button', { name: 'Select all 2 that match' }).click()
    await act('Restart 2').click()
    await button('Restart 2 worlds').click()
    await title('0 of 2 restarts accepted: 2 not known')
    const after = await Promise.all(ids.map(runOf))
    expect(after.map((run, at) => run === before[at])).toEqual([false, true])
    await button('Restart the one without a new run').click()
    await title('Restart 1 world?')
    await dialog.getByText('The 1 world').click()
    await dialog.getByRole('listitem').getByText('A2').waitFor()
    expect(posts()).toBe(1)
    await button('Restart 1 world').click()
    await title('1 of 2 restarts accepted: 1 not known')
    expect(await runOf(ids[0])).toBe(after[0])
    expect(await runOf(ids[1])).not.toBe(after[1])
    expect(await dialog.getByRole('button', { name: /without a new run/ }).count()).toBe(0)
  })

  test('sends many worlds in pieces, stops after the one in flight, and leads to their launch', async () => {
    const many = Array.from({ length: 51 }, (_, at) => `M${at}`)
    const { ids, filter } = await aSet(many)
    const { page, posts, bar, act, dialog, button, title } = await open(filter)
    const { promise, resolve } = Promise.withResolvers<void>()
    const answerLater = async (route: Route): Promise<void> => {
      await promise
      await route.continue()
    }
    await page.route('**/api/worlds/actions/', answerLater, { times: 1 })
    await bar.getByRole('button', { name: 'Select all 51 that match' }).click()
    await act('Start 51').click()
    const startAt = (await button('Start 51 worlds').boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 }
    const middle = [startAt.x + startAt.width / 2, startAt.y + startAt.height / 2] as const
    await page.mouse.dblclick(...middle)
    await title('Starting 51 worlds')
    const stopAt = (await button('Stop sending').boundingBox()) ?? startAt
    expect(stopAt.x).toBeGreaterThan(startAt.x + startAt.width)
    await button('Stop sending').click()
    await button('Stopping…').waitFor()
    resolve()
    await title('50 of 51 starts accepted: 1 not sent')
    expect(posts()).toBe(1)
    await button('Send the one that was not sent').click()
    await title('Start 1 world?')
    await button('Start 1 world').click()
    await title('51 starts accepted')
    expect(posts()).toBe(2)
    const link = dialog.getByRole('link', { name: 'Watch the launch' })
    const since = new URL((await link.getAttribute('href')) ?? '', fleet.origin).searchParams.get('since')
    for (const id of ids) {
      const { body } = await fleet.tenant.rest.call<WorldBody>('GET', `/api/worlds/${id}/`)
      expect(Date.parse(body.status.startedAt ?? '')).toBeGreaterThanOrEqual(Date.parse(since ?? ''))
    }
    await link.click()
    await page.getByRole('heading', { name: /of 51 runs/ }).waitFor()
    await dialog.waitFor({ state: 'detached' })
  })

  test('a sign-out during a run ends it, and the next sign-in does not see it', async () => {
    const { ids, filter } = await aSet(['A1', 'A2'])
    const { page, posts, bar, act, dialog, button, title, line, signIn } = await open(filter, {
      mayLog: [/status of 429/],
    })
    const busy = { code: 'rate_limited', detail: 'Another bulk action of the organization is in progress.' }
    const refuse = (route: Route) => route.fulfill({ status: 429, headers: { 'retry-after': '1' }, json: busy })
    await page.route('**/api/worlds/actions/', refuse)
    await bar.getByRole('button', { name: 'Select all 2 that match' }).click()
    await act('Start 2').click()
    await button('Start 2 worlds').click()
    await title('Starting 2 worlds')
    await button('Continue in the background').click()
    await line.waitFor()
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('API key').waitFor()
    const sent = posts()
    await page.unroute('**/api/worlds/actions/')
    await signIn(fleet.writer)
    await bar.getByRole('button', { name: 'Select all 2 that match' }).click()
    await act('Stop 0').waitFor()
    expect(await line.count()).toBe(0)
    expect(await dialog.count()).toBe(0)
    expect(posts()).toBe(sent)
    expect(await phasesOf(ids)).toEqual(['Inactive', 'Inactive'])
  })

  test('the history of the browser closes the dialog', async () => {
    const { filter } = await aSet(['A1'])
    const { page, box, act, dialog, title } = await open(filter)
    await page.getByRole('link', { name: 'A1' }).click()
    await page.getByRole('heading', { name: 'A1' }).waitFor()
    await page.getByRole('link', { name: 'Worlds' }).first().click()
    await box('A1').click()
    await act('Delete 1').click()
    await title('Delete 1 world?')
    await page.goBack()
    await page.getByRole('heading', { name: 'A1' }).waitFor()
    await dialog.waitFor({ state: 'detached' })
  })

  test('a key that may only read sees disabled actions and the permission that they need', async () => {
    const { ids, filter } = await aSet(['A1'])
    const { box, bar, act, dialog, posts } = await open(filter, { apiKey: fleet.reader })
    await box('A1').click()
    for (const name of ['Start 0', 'Stop 0', 'Restart 0', 'Delete 0']) {
      expect(await act(name).isDisabled()).toBe(true)
      await act(name).click({ force: true })
    }
    await bar.getByText(`Needs w on the world: ${fleet.tenant.paths.project}/worlds/${ids[0]}:w.`).waitFor()
    expect(await dialog.count()).toBe(0)
    expect(posts()).toBe(0)
  })

  test('a key of some worlds acts on those, and leaves the others as they are', async () => {
    const { ids, filter } = await aSet(['A1', 'A2'])
    const { project, organization } = fleet.tenant.paths
    const apiKey = await fleet.tenant.key([`${organization}/**:r`, `${project}/worlds/${ids[0]}:w`])
    const { bar, act, dialog, button, title } = await open(filter, { apiKey })
    await bar.getByRole('button', { name: 'Select all 2 that match' }).click()
    await act('Start 1').click()
    await dialog.getByText('Start 1 of 2 worlds: 1 needs w.').waitFor()
    await button('Start 1 world').click()
    await title('1 start accepted')
    expect(await phasesOf(ids)).toEqual(['Starting', 'Inactive'])
  })

  test('shows names as text, however they are written', async () => {
    const name = '<img src=x onerror=alert(1)> \u202egnp.exe'
    const { filter } = await aSet([name])
    const { page, bar, act, dialog, button, title } = await open(filter, { width: 320 })
    await bar.getByRole('button', { name: 'Select all 1 that match' }).click()
    await act('Start 1').click()
    await dialog.getByText('The 1 world').click()
    await dialog.getByText('⟨U+202E⟩').waitFor()
    await button('Start 1 world').click()
    await title('1 start accepted')
    expect(await page.evaluate('document.querySelectorAll("img, [onerror]").length')).toBe(0)
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
  })

  test.each([
    ['light', 1280],
    ['dark', 390],
  ] as const)('has no violation that axe finds, in %s colours, %i pixels wide', async (colorScheme, width) => {
    const good = await aSet(['A1', 'A2'])
    const { filter } = await aSet(['B1'], { runtime: { build: { channelId: 'absent', tag: 'v1' } } })
    const { page, violations } = await consoles.openForAxe({ colorScheme, width, path: '?sort=name' })
    await page.getByLabel('API key').fill(fleet.writer)
    await page.getByRole('button', { name: 'Sign in' }).click()
    const { bar, act, button, title, dialog, filter: field } = piecesOf(page)
    await field.fill(`${good.filter},${filter.replace('label:', '')}`)
    await bar.getByRole('button', { name: 'Select all 3 that match' }).click()
    await act('Start 3').waitFor()
    const check = async (state: string): Promise<void> => expect.soft(await violations(), state).toEqual([])
    await check('the selection')
    await act('Delete 3').click()
    await dialog.getByLabel('Type 3 to delete').waitFor()
    await check('a plan')
    await button('Cancel').click()
    await act('Start 3').click()
    await button('Start 3 worlds').click()
    await title('2 of 3 starts accepted: 1 failed')
    await check('a result')
    await button('Close').click()
    await check('the line')
  })
})
