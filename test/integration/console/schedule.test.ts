import { afterAll, beforeAll, expect, test } from 'vitest'
import { inSession } from '#dev/postgres.ts'
import { aCluster } from '#test/support/cluster.ts'
import { aConsole, describeConsole } from '#test/support/consolePage.ts'
import { type ApiProcess, aDatabase, startApi } from '#test/support/processes.ts'
import type { WorldBody } from '#test/support/rest.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

type Body = WorldBody & {
  readonly runtime: { readonly schedule?: object }
  readonly status: { readonly nextAction?: { readonly what: string; readonly at: string; readonly by?: string } }
}

const fromNow = (minutes: number): string => new Date(Date.now() + minutes * 60_000).toISOString()
/** Cron for a time in about half a year. */
const farAway = `0 5 1 ${((new Date().getUTCMonth() + 6) % 12) + 1} *`

// There is no operator: the tests write what it would report.
describeConsole('the schedule of a world in the console', () => {
  const cluster = aCluster()
  let databaseUrl: string
  let api: ApiProcess
  let tenant: Tenant
  let writer: string
  beforeAll(async () => {
    databaseUrl = await aDatabase()
    api = await startApi({ databaseUrl })
    tenant = await aTenant(api.url)
    writer = await tenant.key([`${tenant.paths.organization}/**:w`])
  })
  afterAll(async () => {
    await api?.stop()
    await cluster.close()
  })
  const consoles = aConsole(() => api.url)

  const pathOf = (id: string, tab = ''): string => {
    const { organizationId, projectId } = tenant.scope
    return `organizations/${organizationId}/projects/${projectId}/worlds/${id}/${tab}`
  }
  const read = async (id: string) => (await tenant.rest.call<Body>('GET', `/api/worlds/${id}/`)).body
  const planNext = (id: string, next: object): Promise<unknown> =>
    inSession(databaseUrl, (session) =>
      session.query('update worlds set next_action = $2 where id = $1', [id, JSON.stringify(next)]),
    )
  const becomesActive = async (id: string): Promise<void> => {
    const place = { namespace: `orrery-${tenant.scope.organizationId}`, name: id }
    await tenant.rest.call('POST', `/api/worlds/${id}/start/`)
    await eventually('the grant', async () => (await cluster.world(place.namespace, id).find())?.spec.granted)
    const { spec } = await cluster.worlds.get(place)
    const status = { observedRevision: spec.revision, runId: spec.runId, phase: 'Active' }
    const patch = JSON.stringify({ status })
    cluster.kubectl('-n', place.namespace, 'patch', 'world', id, '--subresource=status', '--type=merge', '-p', patch)
    await eventually(`${id} runs`, async () => (await read(id)).status.phase === 'Active')
  }
  const openNow = async (id: string) => {
    const { page, signIn } = await consoles.open({ path: pathOf(id) })
    await signIn(writer)
    const fact = page.locator('.fact').filter({ has: page.getByText('Schedule', { exact: true }) })
    return {
      fact: fact.locator('dd'),
      times: () => fact.locator('time').evaluateAll((all) => all.map((each) => each.getAttribute('datetime'))),
      isIn: (phase: string) => page.locator(`.world-head .phase-${phase.toLowerCase()}`).waitFor(),
    }
  }
  const openSettings = async (id: string, mayLog: RegExp[] = []) => {
    const { page, signIn } = await consoles.open({ path: pathOf(id, 'settings/'), mayLog })
    await signIn(writer)
    await page.getByRole('button', { name: 'Edit the settings' }).click()
    return {
      page,
      input: (name: string) => page.getByLabel(name, { exact: true }),
      row: (id: string) => page.locator(`[id="row-runtime.schedule.${id}"]`),
      dialog: page.getByRole('dialog'),
      review: () => page.getByRole('button', { name: 'Review and save' }).click(),
      save: async () => {
        await page.getByRole('button', { name: 'Review and save' }).click()
        await page
          .getByRole('dialog')
          .getByRole('button', { name: /^Save / })
          .click()
      },
      saved: (text: string) => page.getByRole('status').getByText(text).waitFor(),
    }
  }

  test('is set, changed and removed by its fields, and the review shows what goes with them', async () => {
    const id = await tenant.world({ name: 'Garden', runtime: { mapName: 'dust' } })
    const { input, dialog, review, save, saved } = await openSettings(id)
    expect(await input('Time zone of the schedule').inputValue()).toBe('')
    await input('Scheduled start').fill(' 0  18 * * FRI')
    await input('Scheduled restart').fill('0 5 * * *')
    await input('Restart when empty within').fill('30')
    await input('Time zone of the schedule').fill('Europe/Berlin')
    await save()
    await saved('Saved: Scheduled start, Scheduled restart, Restart when empty within, Time zone of the schedule.')
    const restart = { at: '0 5 * * *', whenEmptyWithinMinutes: 30 }
    expect((await read(id)).runtime).toMatchObject({
      mapName: 'dust',
      schedule: { timeZone: 'Europe/Berlin', start: '0 18 * * FRI', restart },
    })
    expect(await input('Scheduled start').inputValue()).toBe('0 18 * * FRI')

    await input('Map').fill('ice')
    await input('Scheduled start').fill('')
    await save()
    await saved('Saved: Map, Scheduled start.')
    expect((await read(id)).runtime).toMatchObject({ mapName: 'ice', schedule: { timeZone: 'Europe/Berlin', restart } })

    await input('Scheduled restart').fill('')
    await review()
    expect((await dialog.getByRole('row').allTextContents()).slice(1)).toEqual([
      'Scheduled restart0 5 * * *NoneAt once',
      'Restart when empty within30NoneRemoved with the times of the scheduleAt once',
      'Time zone of the scheduleEurope/BerlinNoneRemoved with the times of the scheduleAt once',
    ])
    await dialog.getByRole('button', { name: 'Save 1 change' }).click()
    await saved('Saved: Scheduled restart.')
    const { runtime, status } = await read(id)
    expect([runtime, status]).toEqual([
      expect.not.objectContaining({ schedule: expect.anything() }),
      expect.not.objectContaining({ nextAction: expect.anything() }),
    ])
    expect(await input('Time zone of the schedule').inputValue()).toBe('')
  })

  test('has the sentence of the API at the field that is wrong, and the edits stay', async () => {
    const id = await tenant.world({ name: 'Garden' })
    const { input, row, save, saved } = await openSettings(id, [/status of 400/])
    await input('Time zone of the schedule').fill('Mars/Olympus')
    await save()
    await row('timeZone').getByText('schedule must have start, stop or restart').waitFor()
    await input('Restart when empty within').fill('30')
    await save()
    await row('restart.whenEmptyWithinMinutes').getByText('needs a scheduled restart').waitFor()
    await input('Restart when empty within').fill('')
    await input('Scheduled stop').fill('@daily')
    await save()
    await row('stop').getByText('must have the five fields of cron').waitFor()
    await input('Scheduled stop').fill('0 0 30 2 *')
    await save()
    await row('timeZone').getByText('Mars/Olympus is unknown').waitFor()
    expect(await input('Time zone of the schedule').getAttribute('aria-invalid')).toBe('true')
    await input('Time zone of the schedule').fill('Europe/Berlin')
    await save()
    await row('stop').getByText('never occurs').waitFor()
    expect(await row('timeZone').getByText('is unknown').count()).toBe(0)
    await input('Scheduled stop').fill('0 0 28 2 *')
    await save()
    await saved('Saved: Scheduled stop, Time zone of the schedule.')
    expect((await read(id)).runtime.schedule).toEqual({ timeZone: 'Europe/Berlin', stop: '0 0 28 2 *' })
  })

  test('drops a restart that waits by an edit, and the review says so', async () => {
    const restart = { at: farAway, whenEmptyWithinMinutes: 60 }
    const id = await tenant.world({ name: 'Garden', runtime: { schedule: { restart } } })
    await becomesActive(id)
    await planNext(id, { what: 'restart', at: fromNow(-5), by: fromNow(55) })
    const { input, dialog, review } = await openSettings(id)
    await input('Scheduled restart').fill('0 6 1 1 *')
    await review()
    await dialog.getByText('▲ At once: the restart that waits for an empty world is not done').waitFor()
    await dialog.getByRole('button', { name: 'Save 1 change' }).click()
    await eventually('the next restart', async () => /-01-01T06/.test((await read(id)).status.nextAction?.at ?? ''))
  })

  test('shows its next action, follows an edit by others and ends with the schedule', async () => {
    const id = await tenant.world({ name: 'Garden', runtime: { schedule: { start: farAway } } })
    const { fact, times } = await openNow(id)
    await fact.getByText(/^Starts at/).waitFor()
    const { nextAction } = (await read(id)).status
    expect(await times()).toEqual([nextAction?.at])
    await planNext(id, { what: 'start', at: fromNow(125) })
    await expect.poll(() => fact.textContent()).toMatch(/^Starts at .* \(in 2h\)\s*$/)
    await tenant.rest.call('PATCH', `/api/worlds/${id}/`, { runtime: { schedule: { stop: farAway } } })
    await expect.poll(() => fact.textContent()).toMatch(/^Stops at .* if it runs, sleeps or waits to start then\s*$/)
    await tenant.rest.call('PATCH', `/api/worlds/${id}/`, { runtime: {} })
    await fact.waitFor({ state: 'detached' })
  })

  test('starts the world while its page is shown, which then has the time after it', async () => {
    const id = await tenant.world({ name: 'Garden', runtime: { schedule: { start: farAway } } })
    const { fact, isIn } = await openNow(id)
    await isIn('Inactive')
    await tenant.rest.call('PATCH', `/api/worlds/${id}/`, { runtime: { schedule: { start: '* * * * *' } } })
    const minuteMs = 60_000
    await planNext(id, { what: 'start', at: new Date(Math.floor(Date.now() / minuteMs) * minuteMs).toISOString() })
    await isIn('Starting')
    await expect.poll(() => fact.textContent()).toMatch(/^Starts at .* \(in \d+s\) if it does not run then\s*$/)
  })

  test('says of a restart that may wait from when and until when, and then that it waits', async () => {
    const restart = { at: farAway, whenEmptyWithinMinutes: 30 }
    const id = await tenant.world({ name: 'Garden', runtime: { schedule: { restart } } })
    const { fact, times } = await openNow(id)
    await expect.poll(() => fact.textContent()).toMatch(/^Restarts from .* if it runs then\s*$/)
    await becomesActive(id)
    const whenEmpty = String.raw`when nobody is in the world, at .* at the latest\s*$`
    await expect.poll(() => fact.textContent()).toMatch(new RegExp(`^Restarts from .* ${whenEmpty}`))
    const { nextAction } = (await read(id)).status
    expect(await times()).toEqual([nextAction?.at, nextAction?.by])
    const by = fromNow(20.5)
    await planNext(id, { what: 'restart', at: fromNow(-9.5), by })
    await expect
      .poll(() => fact.textContent())
      .toMatch(/^Restarts when nobody is in the world, at .* \(in 20m\) at the latest\s*$/)
    expect(await times()).toEqual([by])
  })

  test.each([
    ['light', 1280],
    ['dark', 390],
  ] as const)('in %s colours, %i pixels wide, has no violation that axe finds', async (colorScheme, width) => {
    const id = await tenant.world({ name: 'Garden', runtime: { schedule: { start: farAway } } })
    const { page, violations } = await consoles.openForAxe({ colorScheme, width, path: pathOf(id) })
    await page.getByLabel('API key').fill(writer)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText(/^Starts at/).waitFor()
    expect.soft(await violations(), 'the next action').toEqual([])
    await page.getByRole('tab', { name: 'Settings' }).click()
    await page.getByRole('button', { name: 'Edit the settings' }).click()
    await page.getByLabel('Time zone of the schedule', { exact: true }).fill('Europe/Berlin')
    expect.soft(await violations(), 'to edit').toEqual([])
  })
})
