import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { aConsole, describeConsole } from '#test/support/consolePage.ts'
import { eventually } from '#test/support/wait.ts'
import { type Fleet, startFleet } from './fleet.ts'

describeConsole('the page of a world in the console', () => {
  let fleet: Fleet
  beforeAll(async () => {
    fleet = await startFleet({ log: 'hello\n\u001b[31mred\u001b[0m end' })
  })
  afterAll(() => fleet?.stop())
  const consoles = aConsole(() => fleet.origin)

  const openWorld = async (id: string, tab = '', { apiKey = fleet.writer, mayLog = [] as RegExp[] } = {}) => {
    const { organizationId, projectId } = fleet.tenant.scope
    const path = `organizations/${organizationId}/projects/${projectId}/worlds/${id}/${tab}`
    const opened = await consoles.open({ path, mayLog })
    await opened.signIn(apiKey)
    const { page } = opened
    return { ...opened, tab: (name: string) => page.getByRole('tab', { name }), panel: page.getByRole('tabpanel') }
  }
  /** Returns a sentence without its numbers and times, which go on. */
  const timeless = (sentence: string | null): string => (sentence ?? '').replaceAll(/\d+ \w+/g, '…')
  const shownWhy = async (page: Page): Promise<string> => {
    const why = page.getByRole('region', { name: 'Why' })
    return timeless(await why.getByRole('paragraph').first().textContent())
  }
  const whyOf = async (id: string): Promise<string> => {
    const { body } = await fleet.tenant.rest.call<{ sentence: string }>('GET', `/api/worlds/${id}/why/`)
    return timeless(body.sentence)
  }

  test('is reached from the fleet, and begins with the sentence that says why the world does not run', async () => {
    const { page, signIn } = await consoles.open({ path: '?q=quarry' })
    await signIn(fleet.reader)
    await page.getByRole('link', { name: 'Quarry' }).click()
    await page.getByRole('heading', { name: 'Quarry' }).waitFor()
    const sentence = await whyOf(fleet.worlds.quarry)
    expect(sentence).toContain('Quarry')
    await expect.poll(() => shownWhy(page), { timeout: 30_000 }).toBe(sentence)
    const why = page.getByRole('region', { name: 'Why' })
    const [first, tabs] = await Promise.all([why.boundingBox(), page.getByRole('tablist').boundingBox()])
    expect(first?.y).toBeLessThan(tabs?.y ?? 0)
    await page.getByRole('tabpanel').getByText('ImagePullFailed').first().waitFor()
    await page.goBack()
    await page.getByRole('table', { name: 'Worlds' }).waitFor()
  })

  test('shows conditions, runs and events', async () => {
    const { page, tab, panel } = await openWorld(fleet.worlds.arena)
    await panel.getByText('10.0.0.7:7777').first().waitFor()
    for (const condition of ['Ready', 'Progressing', 'Degraded']) {
      await panel.getByRole('row').filter({ hasText: condition }).first().waitFor()
    }
    await tab('Runs').click()
    await panel
      .getByRole('row')
      .filter({ hasText: /Running.*dep-/ })
      .waitFor()
    await tab('Events').click()
    await panel.getByRole('row').filter({ hasText: 'Started' }).waitFor()
    expect(page.url()).toContain('/events/')
  })

  test('shows the log, with colours and without escapes', async () => {
    const { tab, panel } = await openWorld(fleet.worlds.arena)
    await tab('Logs').click()
    await panel.getByText('hello').waitFor()
    await panel.getByText('red', { exact: true }).waitFor()
    expect(await panel.textContent()).not.toContain('[31m')
  })

  test('says with the permission of a reader which one the log needs', async () => {
    const options = { apiKey: fleet.reader, mayLog: [/status of 403/] }
    const { panel } = await openWorld(fleet.worlds.arena, 'logs/', options)
    await panel.getByText('it needs the verb w on the world').waitFor()
  })

  test('follows the world: its sentence, its conditions and its deletion', async () => {
    const id = await fleet.tenant.world({ name: 'Garden' })
    const { page } = await openWorld(id, '', { mayLog: [/status of 404/] })
    const says = (what: string) =>
      eventually(`the sentence for ${what}`, async () => (await shownWhy(page)) === (await whyOf(id)))
    await says('a world that never ran')
    await fleet.start(id)
    await fleet.podOf(id).runsOutOfMemory()
    await fleet.has(id, 'out of memory', ({ message }) => message.includes('memory'))
    await says('a world without memory')
    await fleet.tenant.rest.call('DELETE', `/api/worlds/${id}/`)
    await page
      .getByText(/was deleted/)
      .first()
      .waitFor()
  })

  test('of an unknown world says that there is none', async () => {
    const { page } = await openWorld(`wld-${'0'.repeat(26)}`, '', { mayLog: [/status of 404/] })
    await page
      .getByText(/does not exist|no such world|not found/i)
      .first()
      .waitFor()
  })
})
