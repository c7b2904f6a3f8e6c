import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { aConsole, describeConsole, sendKey } from '#test/support/consolePage.ts'
import { type Fleet, startFleet } from './fleet.ts'

const mebibyte = 2 ** 20

describeConsole('the CPU and memory on the page of a world', () => {
  let fleet: Fleet
  beforeAll(async () => {
    fleet = await startFleet()
  })
  afterAll(() => fleet?.stop())
  const consoles = aConsole(() => fleet.origin)

  const pathOf = (id: string): string => {
    const { organizationId, projectId } = fleet.tenant.scope
    return `organizations/${organizationId}/projects/${projectId}/worlds/${id}/`
  }
  /** Answers the readings of a page, each with the next sample, or with a status without one. */
  const answerReadings = async (page: Page) => {
    const state = { memoryMiB: 1_024, status: 200, readings: 0, samples: 0 }
    await page.route('**/api/worlds/*/metrics/', async (route) => {
      state.readings += 1
      if (state.status === 0) return route.abort()
      if (state.status !== 200) return route.fulfill({ status: state.status, json: { code: 'conflict', detail: '' } })
      state.samples += 1
      const json = {
        sampledAt: new Date(Date.UTC(2026, 10, 28, 14) + 15_000 * state.samples).toISOString(),
        windowSeconds: 15,
        cpuMillicores: 420,
        cpuLimitMillicores: 2_000,
        memoryBytes: state.memoryMiB * mebibyte,
        memoryLimitBytes: 4_096 * mebibyte,
      }
      return route.fulfill({ json })
    })
    return state
  }
  /** Opens the page of a world, whose clock `after` sets forward. */
  const openWorld = async (id: string, mayLog: RegExp[] = []) => {
    const opened = await consoles.open({ path: pathOf(id), mayLog })
    const { page } = opened
    await page.clock.install()
    const state = await answerReadings(page)
    await page.reload()
    const after = async (seconds: number): Promise<void> => {
      const before = state.readings
      await page.clock.fastForward(1_000 * seconds)
      await expect.poll(() => state.readings, { timeout: 30_000 }).toBe(before + 1)
    }
    return { ...opened, state, after, use: page.getByRole('region', { name: 'CPU and memory' }) }
  }

  test('are shown with their limits, and read again every 15 s', async () => {
    const { signIn, use, after, state } = await openWorld(fleet.worlds.arena)
    await signIn(fleet.reader)
    await use.getByText('0.42 cores of 2 cores (21 %)').waitFor()
    await use.getByText('1 GiB of 4 GiB (25 %)').waitFor()
    state.memoryMiB = 3_800
    await after(15)
    await use.getByRole('status').getByText('Memory is above 90 % of its limit.').waitFor()
    await use.getByRole('img', { name: 'Memory: at most 3.71 GiB' }).waitFor()
    await use.getByText('Samples').click()
    expect(await use.getByRole('row').count()).toBe(3)
  })

  test('begin a new line for another server, and stay when a reading fails', async () => {
    const { signIn, use, after, state } = await openWorld(fleet.worlds.arena, [/status of 409/, /net::ERR_FAILED/])
    state.status = 409
    await signIn(fleet.reader)
    await use.getByRole('status').getByText('No sample yet.').waitFor()
    expect(await use.getByRole('img').count()).toBe(0)
    for (const status of [200, 200, 409]) {
      state.status = status
      await after(15)
    }
    await use.getByText('No sample of the present server yet.').waitFor()
    state.status = 200
    await after(15)
    await expect.poll(() => use.getByRole('img', { name: 'CPU' }).locator('.use-line').count()).toBe(2)
    state.status = 0
    await after(15)
    await use.getByRole('status').getByText('The last reading failed. The API cannot be reached.').waitFor()
    await use.getByText('1 GiB of 4 GiB (25 %)').waitFor()
  })

  test('are absent in a cluster without metrics, which is asked again after five minutes', async () => {
    const { page, signIn, use, after, state } = await openWorld(fleet.worlds.arena, [/status of 501/])
    state.status = 501
    await signIn(fleet.reader)
    await page.getByRole('heading', { name: 'Conditions' }).waitFor()
    await expect.poll(() => state.readings).toBe(1)
    await page.clock.fastForward(200_000)
    expect([state.readings, await use.count()]).toEqual([1, 0])
    state.status = 200
    await after(100)
    await use.getByText('1 GiB of 4 GiB (25 %)').waitFor()
  })

  test('are not read for a world without a server, in a hidden tab and on other pages', async () => {
    const { page, signIn, use, after, state } = await openWorld(fleet.worlds.lobby)
    await signIn(fleet.reader)
    await page.getByRole('heading', { name: 'Conditions' }).waitFor()
    await page.getByRole('link', { name: 'All worlds' }).click()
    expect(state.readings).toBe(0)
    await page.getByRole('link', { name: 'Arena' }).click()
    await use.getByText('1 GiB of 4 GiB (25 %)').waitFor()
    await hide(page, true)
    await page.clock.fastForward(60_000)
    await hide(page, false)
    await expect.poll(() => state.readings).toBe(2)
    await page.getByRole('tab', { name: 'Events' }).click()
    await after(15)
    await page.getByRole('tab', { name: 'Now' }).click()
    await use.getByText('Samples').click()
    expect(await use.getByRole('row').count()).toBe(4)
    await page.getByRole('link', { name: 'All worlds' }).click()
    await page.getByRole('table', { name: 'Worlds' }).waitFor()
    await page.clock.fastForward(60_000)
    await page.getByRole('link', { name: 'Arena' }).waitFor()
    expect(state.readings).toBe(3)
  })

  test.each([
    ['light', 1280],
    ['dark', 390],
  ] as const)(
    'have no violation of WCAG that axe finds and fit, in %s colours, %i pixels wide',
    async (colorScheme, width) => {
      const { page, violations } = await consoles.openForAxe({ path: pathOf(fleet.worlds.arena), colorScheme, width })
      const state = await answerReadings(page)
      state.memoryMiB = 3_800
      await sendKey(page, fleet.reader)
      await page.getByText('Memory is above 90 % of its limit.').waitFor()
      await page.getByText('Samples').click()
      expect(await violations()).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
    },
  )
})

/** Lets a page believe that its tab is hidden or visible. */
const hide = async (page: Page, isHidden: boolean): Promise<void> => {
  await page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))`)
}
