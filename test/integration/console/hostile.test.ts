import { afterAll, beforeAll, expect, test } from 'vitest'
import { aConsole, type ConsolePage, describeConsole } from '#test/support/consolePage.ts'
import { rootApiKey } from '#test/support/processes.ts'
import { type Fleet, startFleet } from './fleet.ts'

/** A text as long as a field permits, which begins with markup that would run, and ends with one long word. */
const hostile = (markup: string, length: number): string => {
  const text = `${markup} \u202egnp.exe\u2066 a\u200bb`
  return text + 'W'.repeat(length - text.length)
}
const image = '<img src=x onerror=alert(1)>'
const script = '<script>alert(1)</script>'
const url = 'javascript:alert(1)'
const marker = '⟨U+202E⟩'

describeConsole('a tenant that writes markup, URLs and invisible characters into every text', () => {
  let fleet: Fleet
  let id: string
  beforeAll(async () => {
    fleet = await startFleet({
      log: [image, script, url, '\u202egnp.exe', '\u001b]8;;javascript:alert(1)\u0007link'].join('\n'),
    })
    const { rest } = fleet.tenant
    await rest.call('PUT', `/api/builds/${encodeURIComponent(script)}/${encodeURIComponent('v"1')}/`, {
      image: 'registry.example/a:1',
      contentId: hostile(image, 128),
    })
    id = await fleet.tenant.world({
      name: hostile(image, 64),
      description: hostile(script, 256),
      metadata: {
        annotations: { [hostile(image, 128)]: hostile(script, 256) },
        labels: { [hostile(image, 128)]: hostile(script, 256), [url]: url },
      },
      runtime: { mapName: hostile(url, 256), build: { channelId: script, tag: 'v"1' } },
    })
    await fleet.start(id)
    await fleet.podOf(id).becomesReady()
    const path = `/api/organizations/${fleet.tenant.scope.organizationId}/`
    await rest.call('PATCH', path, { name: hostile(image, 64) })
  })
  afterAll(() => fleet?.stop())
  const consoles = aConsole(() => fleet.origin)

  /** Checks that the page fits, that its links are harmless, and that nothing of the tenant became an element. */
  const isHarmless = async ({ page }: ConsolePage): Promise<void> => {
    const seen = await page.evaluate<{ overflow: number; links: string[]; elements: number }>(`({
      overflow: document.documentElement.scrollWidth - innerWidth,
      links: [...document.links].map(({ href }) => new URL(href).protocol).filter((each) => !/^https?:$/.test(each)),
      elements: document.querySelectorAll('img, iframe, object, embed, script:not([src]), [onerror]').length,
    })`)
    expect(seen).toEqual({ overflow: expect.any(Number), links: [], elements: 0 })
    expect(seen.overflow).toBeLessThanOrEqual(0)
  }

  test.each([320, 1280])('runs nothing and hides nothing, at %i pixels', async (width) => {
    const opened = await consoles.open({ width, mayLog: [/status of 40[49]/] })
    const { page, signIn } = opened
    await signIn(rootApiKey)
    const choice = page.getByRole('row').filter({ hasText: fleet.tenant.scope.organizationId })
    await choice.getByText(marker).waitFor()
    await isHarmless(opened)
    await choice.getByRole('link').click()
    const link = page.getByRole('link', { name: image })
    await link.getByText(marker).waitFor()
    await link.getByText('⟨U+200B⟩').waitFor()
    await isHarmless(opened)
    await page.getByRole('searchbox', { name: 'Filter' }).fill('onerror')
    await page.getByRole('link', { name: 'Lobby' }).waitFor({ state: 'detached' })
    await link.click()
    await page.getByRole('heading').getByText(marker).waitFor()
    for (const name of ['Runs', 'Events', 'Logs', 'Now']) {
      await page.getByRole('tab', { name }).click()
      await page.getByRole('tab', { name, selected: true }).waitFor()
      await isHarmless(opened)
    }
  })

  test('cannot make a line of a log into anything but text', async () => {
    const { organizationId, projectId } = fleet.tenant.scope
    const path = `organizations/${organizationId}/projects/${projectId}/worlds/${id}/logs/`
    const opened = await consoles.open({ path, width: 320 })
    await opened.signIn(fleet.writer)
    const panel = opened.page.getByRole('tabpanel')
    for (const line of [image, script, url, `${marker}gnp.exe`]) await panel.getByText(line).waitFor()
    await isHarmless(opened)
  })
})
