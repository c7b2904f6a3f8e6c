import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { aCluster } from '#test/support/cluster.ts'
import { aConsole, describeConsole } from '#test/support/consolePage.ts'
import { aKey } from '#test/support/keys.ts'
import type { WorldBody } from '#test/support/rest.ts'
import { eventually } from '#test/support/wait.ts'
import { type Fleet, startFleet } from './fleet.ts'

describeConsole('the settings of a world in the console', () => {
  let fleet: Fleet
  let cluster: ReturnType<typeof aCluster>
  beforeAll(async () => {
    fleet = await startFleet()
    cluster = aCluster()
  })
  afterAll(async () => {
    await cluster?.close()
    await fleet?.stop()
  })
  const consoles = aConsole(() => fleet.origin)

  const pathOf = (id: string): string => {
    const { organizationId, projectId } = fleet.tenant.scope
    return `organizations/${organizationId}/projects/${projectId}/worlds/${id}/settings/`
  }
  const partsOf = (page: Page) => ({
    page,
    button: (name: string | RegExp) => page.getByRole('button', { name, exact: true }),
    row: (id: string) => page.locator(`[id="row-${id}"]`),
    input: (name: string) => page.getByLabel(name, { exact: true }),
    dialog: page.getByRole('dialog'),
    edit: () => page.getByRole('button', { name: 'Edit the settings' }).click(),
    save: async () => {
      await page.getByRole('button', { name: 'Review and save' }).click()
      await page
        .getByRole('dialog')
        .getByRole('button', { name: /^Save / })
        .click()
    },
  })
  const openSettings = async (
    id: string,
    { apiKey = fleet.writer, mayLog = [] as RegExp[], width = 1280, path = pathOf(id) } = {},
  ) => {
    const opened = await consoles.open({ path, mayLog, width })
    const patches: { body: unknown; tag: string | undefined }[] = []
    opened.page.on('request', (request) => {
      if (request.method() === 'PATCH')
        patches.push({ body: request.postDataJSON(), tag: request.headers()['if-match'] })
    })
    await opened.signIn(apiKey)
    return { ...partsOf(opened.page), patches }
  }
  const read = (id: string) =>
    fleet.tenant.rest.call<WorldBody & { name: string; runtime: object }>('GET', `/api/worlds/${id}/`)
  const status = (page: Page, text: string) => page.getByRole('status').getByText(text).waitFor()
  const editWithKubectl = (id: string, spec: object): void => {
    const namespace = `orrery-${fleet.tenant.scope.organizationId}`
    cluster.kubectl('-n', namespace, 'patch', 'world', id, '--type=merge', '-p', JSON.stringify({ spec }))
  }
  /** Waits until the world has a resource, which kubectl can edit. */
  const withResource = async (body: object): Promise<string> => {
    const id = await fleet.tenant.world(body)
    const namespace = `orrery-${fleet.tenant.scope.organizationId}`
    await eventually('the resource exists', async () => cluster.kubectl('-n', namespace, 'get', 'world', id) !== '')
    return id
  }

  test('show what runs beside what acts at the next start', async () => {
    const id = await fleet.tenant.world({ name: 'Garden', runtime: { mapName: 'dust' } })
    await fleet.start(id)
    await fleet.podOf(id).becomesReady()
    await fleet.has(id, 'Active', ({ phase }) => phase === 'Active')
    const { row } = await openSettings(id)
    await row('runtime.mapName').getByRole('cell').filter({ hasText: 'dust' }).first().waitFor()
    const networking = {
      strategy: 'Default',
      ports: [{ name: 'other', containerPort: 7000 }],
      scaling: { profile: 'Capacity10' },
    }
    await fleet.patch(id, { runtime: { mapName: 'ice' }, networking })
    for (const [setting, runs, next] of [
      ['runtime.mapName', 'dust', 'ice'],
      ['networking.scaling.profile', 'Capacity30', 'Capacity10'],
      ['admission.capacity', 'Another value', '10'],
      ['networking.ports', 'Another value', '7000'],
    ] as const) {
      await row(setting).getByText('Changed: acts at the next start').waitFor()
      const [now, then] = await row(setting).getByRole('cell').allTextContents()
      expect(now).toBe(runs)
      expect(then).toContain(next)
    }
    expect(await row('compute.region').getByText('Changed').count()).toBe(0)
  })

  test('are saved with one request, after a review of what changes and when it acts', async () => {
    const id = await fleet.tenant.world({
      name: 'Garden',
      runtime: { mapName: 'dust', durationMinutes: 90 },
      metadata: { labels: { team: 'events' } },
    })
    await fleet.start(id)
    const { page, input, row, dialog, edit, patches } = await openSettings(id)
    await edit()
    await input('Map').fill('ice')
    await input('Labels').fill('team=events\ntier=gold')
    await input('Name').fill('Hall')
    await input('Name').fill('Garden')
    await status(page, '2 changes')
    await row('runtime.mapName').getByText('Not saved. Before: dust').waitFor()
    const { headers } = await read(id)
    await page.getByRole('button', { name: 'Review and save' }).click()
    const rows = await dialog.getByRole('row').allTextContents()
    expect(rows.slice(1)).toEqual(['MapdusticeAt the next start', 'Labelsteam=eventsteam=events\ntier=goldAt once'])
    await dialog.getByText('A save does not restart it.').waitFor()
    await dialog.getByText('The same as commands').click()
    expect(await dialog.locator('pre').first().textContent()).toContain('"mapName":"ice"')
    expect(patches).toEqual([])
    await dialog.getByRole('button', { name: 'Save 2 changes' }).click()
    await status(page, 'Saved: Map, Labels. Restart the world for: Map.')
    expect(patches).toEqual([
      {
        body: {
          runtime: { mapName: 'ice', durationMinutes: 90 },
          metadata: { annotations: {}, labels: { team: 'events', tier: 'gold' } },
        },
        tag: expect.stringMatching(`^"${headers.get('etag')?.slice(1, 3)}`),
      },
    ])
    expect((await read(id)).body).toMatchObject({
      name: 'Garden',
      runtime: { mapName: 'ice', durationMinutes: 90 },
      metadata: { labels: { team: 'events', tier: 'gold' } },
    })
    await status(page, '0 changes')
    await page.getByRole('button', { name: 'End editing' }).click()
    await row('metadata.labels').getByText('tier=gold').waitFor()
  })

  test('have each kind of value', async () => {
    const id = await fleet.tenant.world({ name: 'Garden' })
    const { page, input, edit, save, patches } = await openSettings(id)
    await edit()
    await input('Build: channel').fill('live')
    await input('Build: tag').fill('v7')
    await input('Profile').selectOption('Capacity60')
    await input('Region').selectOption('AsiaPacific')
    await input('Duration').fill('2.5')
    await input('Public').check()
    await input('Description').fill('Two\nlines')
    await input('Ports').fill('[{"name": "game", "containerPort": 7000}]')
    await input('Permissions of clients').fill('chat\n"two words "')
    await save()
    await status(page, 'Saved:')
    expect(patches).toHaveLength(1)
    expect((await read(id)).body).toMatchObject({
      description: 'Two\nlines',
      compute: { group: 'production', region: 'AsiaPacific' },
      networking: {
        ports: [{ name: 'game', containerPort: 7000, protocol: 'TCPUDP' }],
        scaling: { profile: 'Capacity60' },
      },
      runtime: { build: { channelId: 'live', tag: 'v7' }, durationMinutes: 2.5 },
      admission: { capacity: 60 },
      manifest: { clientPermissions: ['chat', 'two words '] },
      launchContext: { isPublic: true },
    })
  })

  test('have a query, whose protocol, port and timeout are saved, shown as pending and removed', async () => {
    const id = await fleet.tenant.world({ name: 'Garden', runtime: { mapName: 'dust' } })
    await fleet.start(id)
    await fleet.has(id, 'started', ({ phase }) => phase === 'Starting')
    const { page, input, row, edit, dialog, save } = await openSettings(id, { mayLog: [/status of 400/] })
    const query = async () => (await read(id)).body.runtime
    await edit()
    expect(await input('Query: protocol').inputValue()).toBe('')
    expect(await input('Query: port').count()).toBe(0)
    await input('Query: protocol').selectOption('A2S')
    await input('Query: port').fill('7777')
    await input('Query: timeout in seconds').fill('9')
    await save()
    await row('runtime.query').getByText('/timeoutSeconds').waitFor()
    await input('Query: timeout in seconds').fill('5')
    await page.getByRole('button', { name: 'Review and save' }).click()
    await dialog.getByText('A2S at port 7777, timeout 5 s').waitFor()
    await dialog.getByRole('button', { name: /^Save / }).click()
    await status(page, 'Saved: Query. Restart the world for: Query.')
    expect(await query()).toMatchObject({ mapName: 'dust', query: { protocol: 'A2S', port: 7777, timeoutSeconds: 5 } })
    await row('runtime.query').getByText('Changed: acts at the next start').waitFor()
    await input('Query: protocol').selectOption('')
    await save()
    await status(page, 'Saved: Query.')
    expect(await query()).not.toHaveProperty('query')
  })

  test('put the faults beside their fields, and send nothing that cannot be read', async () => {
    const id = await fleet.tenant.world({ name: 'Garden' })
    const { page, input, row, edit, save, patches } = await openSettings(id, { mayLog: [/status of 400/] })
    await edit()
    await input('Ports').fill('[')
    await save()
    await row('networking.ports').getByText('is not JSON').waitFor()
    expect(patches).toEqual([])
    await input('Ports').fill('[{"name": "GAME", "containerPort": 7000}]')
    await input('Name').fill('x')
    await save()
    await row('networking.ports').getByText('/0/name must be a DNS label').waitFor()
    await row('name').getByText('must have at least two characters').waitFor()
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('setting-networking.ports')
    await input('Name').fill('Hall')
    expect(await row('name').getByText('must have').count()).toBe(0)
    await input('Ports').fill('[{"name": "game", "containerPort": 7000}]')
    await save()
    await status(page, 'Saved: Ports, Name.')
    expect((await read(id)).body.name).toBe('Hall')
  })

  test('say why the API refuses them', async () => {
    const { page, input, edit, save, patches } = await openSettings(fleet.worlds.lobby, { mayLog: [/status of 403/] })
    await edit()
    await input('Capacity').fill('31')
    await save()
    await page.getByRole('alert').getByText('The platform does not allow this').waitFor()
    expect(patches).toHaveLength(1)
    expect(await input('Capacity').inputValue()).toBe('31')
  })

  test('show an edit with kubectl while they are edited, theirs beside mine', async () => {
    const id = await withResource({ name: 'Garden', description: 'Old', runtime: { mapName: 'dust' } })
    const { page, input, row, edit, save, button } = await openSettings(id)
    await edit()
    await input('Map').fill('ice')
    await input('Name').fill('Hall')
    editWithKubectl(id, { displayName: 'Theirs', description: 'Theirs too', runtime: { mapName: 'snow' } })
    const conflicts = page.getByRole('region', { name: 'Somebody else changed what you edit' })
    const rowOf = (name: string) => conflicts.getByRole('row').filter({ hasText: name })
    await rowOf('Map').waitFor()
    expect(await rowOf('Map').getByRole('cell').allTextContents()).toEqual([
      'dust',
      'snow',
      'ice',
      'Keep mineTake theirs',
    ])
    await row('description').getByText('Somebody else changed it since you began. Before: Old').waitFor()
    expect(await input('Description').inputValue()).toBe('Theirs too')
    expect(await button('Review and save').isDisabled()).toBe(true)
    await button('Keep mine: Map').click()
    await expect.poll(() => page.evaluate('document.activeElement.ariaLabel')).toBe('Keep mine: Name')
    await button('Take theirs: Name').click()
    await conflicts.waitFor({ state: 'detached' })
    expect(await page.evaluate('document.activeElement.id')).toBe('edit-state')
    await status(page, '1 change')
    await save()
    await status(page, 'Saved: Map.')
    expect((await read(id)).body).toMatchObject({
      name: 'Theirs',
      description: 'Theirs too',
      runtime: { mapName: 'ice' },
    })
  })

  test('are not saved over a version that the page has not shown', async () => {
    const id = await fleet.tenant.world({ name: 'Garden', description: 'Old' })
    const { page, input, edit, save, button, patches } = await openSettings(id, { mayLog: [/status of 412/] })
    await edit()
    await input('Description').fill('Mine')
    const { body, headers } = await read(id)
    // Until the API has refused the save, the page gets the world as it was.
    await page.route(`**/api/worlds/${id}/`, (route) => {
      if (route.request().method() !== 'GET' || patches.length > 0) return route.fallback()
      return route.fulfill({ json: body, headers: { etag: headers.get('etag') ?? '' } })
    })
    await fleet.patch(id, { description: 'Theirs' })
    await save()
    await page.getByRole('alert').getByText('Nothing was saved: somebody else changed Description first.').waitFor()
    const conflict = page.getByRole('region', { name: 'Somebody else' }).getByRole('row').filter({ hasText: 'Theirs' })
    expect((await conflict.getByRole('cell').allTextContents()).slice(0, 3)).toEqual(['Old', 'Theirs', 'Mine'])
    expect((await read(id)).body).toMatchObject({ description: 'Theirs' })
    await button('Keep mine: Description').click()
    await save()
    await status(page, 'Saved: Description.')
    expect((await read(id)).body).toMatchObject({ description: 'Mine' })
  })

  test('keep what is not saved while other tabs and pages are shown', async () => {
    const id = await fleet.tenant.world({ name: 'Garden' })
    const { page, input, edit } = await openSettings(id)
    await edit()
    await input('Map').fill('ice')
    await page.getByRole('tab', { name: 'Now' }).click()
    await page.getByRole('link', { name: /All worlds|Worlds of the project/ }).click()
    await page.getByRole('link', { name: 'Lobby' }).waitFor()
    await page.goBack()
    await page.getByRole('tab', { name: 'Settings' }).click()
    await status(page, '1 change')
    expect(await input('Map').inputValue()).toBe('ice')
    await page.getByRole('button', { name: 'Discard' }).click()
    await page.getByRole('button', { name: 'Edit the settings' }).waitFor()
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Edit the settings')
    expect(await input('Map').count()).toBe(0)
  })

  test('are not lost by a sign-out without a second click', async () => {
    const id = await fleet.tenant.world({ name: 'Garden' })
    const { page, input, edit, button } = await openSettings(id)
    await edit()
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('setting-runtime.build')
    await input('Map').fill('ice')
    await input('Name').fill('Hall')
    await button('Sign out').click()
    await status(page, 'Not saved yet: 2 edits.')
    await input('Map').focus()
    await button('Sign out').click()
    await button('Sign out and lose 2 edits').click()
    await page.getByLabel('API key').waitFor()
  })

  test('are lost with a key that is revoked, and the sign-in page says so', async () => {
    const key = await aKey(fleet.tenant.rest, { permissions: [`${fleet.tenant.paths.organization}/**:w`] })
    const mayLog = [/status of 401/]
    const { page, input, edit } = await openSettings(fleet.worlds.lobby, { apiKey: key.apiKey, mayLog })
    await edit()
    await input('Map').fill('ice')
    await key.revoke()
    await page.getByRole('alert').getByText('The session lost 1 edit that was not saved.').waitFor()
  })

  test('can be discarded when somebody has deleted the world, and are no reason to ask', async () => {
    const id = await fleet.tenant.world({ name: 'Garden' })
    const { page, input, edit, button } = await openSettings(id, { mayLog: [/status of 404/] })
    await edit()
    await input('Map').fill('ice')
    await fleet.tenant.rest.call('DELETE', `/api/worlds/${id}/`)
    const notice = page.getByRole('alert').filter({ hasText: 'Your edits cannot be saved: the world was deleted.' })
    await notice.getByText('ice').waitFor()
    await notice.getByRole('button', { name: 'Discard' }).click()
    await notice.waitFor({ state: 'detached' })
    await button('Sign out').click()
    await page.getByLabel('API key').waitFor()
  })

  test('are saved although the world was started after the page has read it', async () => {
    const id = await fleet.tenant.world({ name: 'Garden' })
    const { page, input, edit, save, patches } = await openSettings(id, { mayLog: [/status of 412/] })
    await edit()
    await input('Name').fill('Hall')
    const { body, headers } = await read(id)
    // Until the API has refused the save, the page gets the world as it was.
    await page.route(`**/api/worlds/${id}/`, (route) => {
      if (route.request().method() !== 'GET' || patches.length > 0) return route.fallback()
      return route.fulfill({ json: body, headers: { etag: headers.get('etag') ?? '' } })
    })
    await fleet.start(id)
    await save()
    await status(page, 'Saved: Name.')
    expect(patches.length).toBeGreaterThan(1)
  })

  test('say before a save that a duration that is over ends the present run', async () => {
    const id = await fleet.tenant.world({ name: 'Garden', transient: true, runtime: { durationMinutes: 600 } })
    await fleet.start(id)
    await fleet.has(id, 'started', ({ phase }) => phase === 'Starting')
    const { page, input, edit, dialog } = await openSettings(id)
    await edit()
    await input('Duration').fill('0.001')
    await input('Profile').selectOption('Capacity60')
    await page.getByRole('button', { name: 'Review and save' }).click()
    await dialog.getByText(/^▲ The present run began .* ago: it ends at once, and the world is deleted$/).waitFor()
    expect(await dialog.getByRole('row').filter({ hasText: 'Follows the profile' }).allTextContents()).toEqual([
      'Capacity3060Follows the profileAt the next start',
    ])
  })

  test('ask before a reload loses what is not saved', async () => {
    const { page, signIn, faults } = await consoles.open({ path: pathOf(fleet.worlds.lobby), isFaulty: true })
    await signIn(fleet.writer)
    const { input, edit } = partsOf(page)
    await edit()
    await input('Map').fill('ice')
    await page.evaluate('void setTimeout(() => location.reload())')
    await expect.poll(faults).toContainEqual(expect.stringMatching('^dialog'))
    expect(await input('Map').inputValue()).toBe('ice')
  })

  test('cannot be edited with a key that may only read, which says the missing permission', async () => {
    const { lobby } = fleet.worlds
    const { page, button, row, patches } = await openSettings(lobby, { apiKey: fleet.reader })
    await row('metadata.labels').getByText('team=events').waitFor()
    expect(await button('Edit the settings').isDisabled()).toBe(true)
    const note = `Needs w on the world: ${fleet.tenant.paths.project}/worlds/${lobby}:w.`
    await page.getByRole('tabpanel').getByText(note).waitFor()
    await button('Edit the settings').click({ force: true })
    expect(await page.getByRole('tabpanel').getByRole('textbox').count()).toBe(0)
    expect(patches).toEqual([])
  })

  test('are where the advice leads, at the setting that it names', async () => {
    const { forge } = fleet.worlds
    const { page } = await openSettings(forge, { path: pathOf(forge).replace('settings/', '') })
    await page.getByRole('link', { name: 'Choose a larger profile' }).click()
    await page.getByRole('tab', { name: 'Settings', selected: true }).waitFor()
    await expect.poll(() => page.evaluate('document.activeElement.id')).toBe('setting-networking.scaling.profile')
  })

  test.each([320, 1280])('show the texts of a hostile tenant as text, at %i pixels', async (width) => {
    const hostile = `<img src=x onerror=alert(1)>\u202e${'W'.repeat(200)}`
    const id = await fleet.tenant.world({
      name: 'Garden',
      description: hostile,
      metadata: { labels: { [hostile]: hostile }, annotations: { '__proto__ =': '"' } },
      runtime: { mapName: hostile },
    })
    const { page, input, row, edit, dialog } = await openSettings(id, { width })
    const isHarmless = async () => {
      const elements = 'document.querySelectorAll("img, iframe, [onerror]").length'
      const overflow = 'Math.max(0, document.documentElement.scrollWidth - innerWidth)'
      expect(await page.evaluate(`[${elements}, ${overflow}]`)).toEqual([0, 0])
    }
    await row('description').getByText('⟨U+202E⟩').waitFor()
    await isHarmless()
    await edit()
    expect(await input('Labels').inputValue()).toContain(String.raw`\u202e`)
    await isHarmless()
    await input('Map').fill('ice')
    await page.getByRole('button', { name: 'Review and save' }).click()
    await dialog.getByText('⟨U+202E⟩').first().waitFor()
    await isHarmless()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Review and save')
  })

  test.each([
    ['light', 1280],
    ['dark', 390],
  ] as const)('in %s colours, %i pixels wide, have no violation that axe finds', async (colorScheme, width) => {
    const id = await fleet.tenant.world({ name: 'Garden', description: 'Old', runtime: { mapName: 'dust' } })
    await fleet.start(id)
    const { page, violations } = await consoles.openForAxe({ colorScheme, width, path: pathOf(id) })
    const { row, input, edit, button, dialog } = partsOf(page)
    await page.getByLabel('API key').fill(fleet.writer)
    await page.getByRole('button', { name: 'Sign in' }).click()
    const isClean = async (state: string): Promise<void> => {
      expect.soft(await violations(), state).toEqual([])
    }
    await fleet.patch(id, { runtime: { mapName: 'snow' } })
    await row('runtime.mapName').getByText('Changed: acts').waitFor()
    await isClean('to read')
    await edit()
    await input('Map').fill('ice')
    await input('Ports').fill('[')
    await isClean('to edit')
    await button('Review and save').click()
    await isClean('a review')
    await dialog.getByRole('button', { name: /^Save / }).click()
    await row('networking.ports').getByText('is not JSON').waitFor()
    await isClean('a fault')
    await fleet.patch(id, { runtime: { mapName: 'rock' }, description: 'New' })
    await button('Keep mine: Map').waitFor()
    await isClean('a conflict')
  })
})
