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

  test('has the edit that helps as its primary action, with the profile of the sentence in its commands', async () => {
    const { page } = await openWorld(fleet.worlds.forge)
    const why = page.getByRole('region', { name: 'Why' })
    await why.getByRole('link', { name: 'Choose a larger profile' }).and(page.locator('.primary')).waitFor()
    expect(await why.locator('.primary').count()).toBe(1)
    const [profile = ''] = /Capacity\d+/.exec((await why.getByRole('paragraph').first().textContent()) ?? '') ?? []
    expect(profile).not.toBe('')
    await why.getByText('Commands for these actions').click()
    await why.getByText(`{"networking":{"scaling":{"profile":"${profile}"}}}`).first().waitFor()
  })

  test('is short on the other tabs, with the actions on demand', async () => {
    const { page, tab, panel } = await openWorld(fleet.worlds.forge)
    const why = page.getByRole('region', { name: 'Why' })
    const choose = why.getByRole('link', { name: 'Choose a larger profile' })
    await choose.waitFor()
    await tab('Events').click()
    await panel.getByRole('row').nth(1).waitFor()
    await choose.waitFor({ state: 'hidden' })
    expect((await why.boundingBox())?.height).toBeLessThan(110)
    expect((await panel.boundingBox())?.y).toBeLessThan(330)
    await why.getByText('Actions and details').click()
    await choose.click()
    await page.getByRole('tab', { name: 'Settings', selected: true }).waitFor()
  })

  test('has tabs that stay in place, and whose keys act on tabs alone', async () => {
    const { page, tab, panel } = await openWorld(fleet.worlds.arena)
    const places = async () =>
      Promise.all((await page.getByRole('tab').all()).map(async (each) => (await each.boundingBox())?.x ?? 0))
    await tab('Now').waitFor()
    const before = await places()
    expect(before).toHaveLength(6)
    await tab('Events').click()
    await panel.getByRole('row').nth(1).waitFor()
    expect(await places()).toEqual(before)
    await panel.getByRole('link', { name: 'All runs' }).focus()
    await page.keyboard.press('End')
    await tab('Events').focus()
    await page.keyboard.press('Control+End')
    await page.keyboard.press('Shift+ArrowRight')
    expect(await tab('Events').getAttribute('aria-selected')).toBe('true')
    await page.keyboard.press('End')
    await page.getByRole('tab', { name: 'History', selected: true }).waitFor()
    const link = await page.getByRole('link', { name: '← All worlds' }).boundingBox()
    expect(link?.width).toBeLessThan(200)
  })

  test('shows all columns of its runs at 1280 pixels', async () => {
    const { page, tab } = await openWorld(fleet.worlds.arena)
    await page.setViewportSize({ width: 1280, height: 800 })
    await tab('Runs').click()
    const runs = page.getByRole('region', { name: 'Table of runs' })
    const hidden = '({ scrollWidth, clientWidth }) => scrollWidth - clientWidth'
    await runs.getByText(/^dep-/).waitFor()
    expect(await page.evaluate(`(${hidden})(document.querySelector('.scrolled'))`)).toBe(0)
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
