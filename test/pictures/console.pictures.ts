import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Page } from 'playwright-core'
import sharp from 'sharp'
import { afterAll, beforeAll, test } from 'vitest'
import { aConsole, describeConsole } from '#test/support/consolePage.ts'
import { type Fleet, startFleet } from '../integration/console/fleet.ts'
import { statesOf } from '../integration/console/states.ts'
import { createWorlds } from './worlds.ts'

// `npm run console:pictures` makes a picture of every page and state of the console in dist/pictures, and a sheet with all of them.
const folder = fileURLToPath(new URL('../../dist/pictures', import.meta.url))

/** The age of the worlds by the clock of the page, which stands still: ages are the same in each run. */
const ageMs = 42 * 60_000
const variants = (['light', 'dark'] as const).flatMap((colorScheme) =>
  [1280, 390].map((width) => ({ colorScheme, width })),
)

/** The jobs that docs/console.md shows: the place where each begins, and its steps. */
const jobs: readonly (readonly [name: string, path: string, show: (page: Page) => Promise<unknown>])[] = [
  ['find', '?q=label%3Ateam%3Devents+phase%3AActive', (page) => page.getByText(/^\d+ of 28/).waitFor()],
  [
    'why',
    '?q=reason%3AOutOfMemory',
    async (page) => {
      await page.getByRole('table').getByRole('link').first().click()
      await page.getByRole('tabpanel').getByText('OutOfMemory').first().waitFor()
    },
  ],
  [
    'many',
    '?q=label%3Ateam%3Devents',
    async (page) => {
      await page.getByRole('checkbox', { name: /^Select all/ }).click()
      await page.getByRole('button', { name: /^Start \d/ }).click()
      await page
        .getByRole('dialog')
        .getByRole('button', { name: /^Start/ })
        .waitFor()
    },
  ],
  ['launch', 'launch/', (page) => page.getByRole('heading', { name: /runs are active/ }).waitFor()],
  [
    'read',
    '?q=reason%3AOutOfMemory',
    async (page) => {
      await page.getByRole('table').getByRole('link').first().click()
      await page.getByRole('tab', { name: 'Events' }).click()
      await page.getByRole('tabpanel').getByRole('table').waitFor()
    },
  ],
]

describeConsole('pictures of the console', () => {
  let fleet: Fleet
  let busy: Awaited<ReturnType<typeof createWorlds>>
  beforeAll(async () => {
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    fleet = await startFleet()
    busy = await createWorlds(fleet.origin)
  })
  afterAll(() => fleet?.stop())
  const consoles = aConsole(() => fleet.origin)

  /** Opens a page whose clock stands still, `ageMs` from now. */
  const openLater = async (options: Parameters<typeof consoles.open>[0] = {}) => {
    const opened = await consoles.open({ ...options, isFaulty: true })
    await opened.page.clock.setFixedTime(Date.now() + ageMs)
    await opened.page.reload()
    return opened
  }
  const columns: Column[] = []
  const take = async (page: Page, { name, title }: { name: string; title: string }): Promise<string> => {
    const file = `${name.replaceAll(/\W+/g, '-')}-${title}.png`
    await page.screenshot({ path: join(folder, file), animations: 'disabled' })
    return file
  }

  test.each(variants)('$colorScheme, $width pixels wide', async ({ colorScheme, width }) => {
    const { page } = await openLater({ colorScheme, width })
    const title = `${colorScheme}-${width}`
    const files: string[] = []
    for (const [index, [name, show]] of statesOf(fleet).entries()) {
      await show(page)
      files.push(await take(page, { name: `${String(index + 1).padStart(2, '0')} ${name}`, title }))
    }
    columns.push({ title, width, files })
  })

  test('a fleet in every phase', async () => {
    const { page, signIn } = await openLater()
    await signIn(busy.apiKey)
    await page.getByText('28 of 28').waitFor()
    // No row has the look of one under the pointer.
    await page.mouse.move(0, 0)
    await take(page, { name: 'fleet', title: 'light-1280' })
  })

  test.each(jobs)('the job "%s" for docs/console.md', async (name, path, show) => {
    const { page, signIn } = await openLater({ path, height: 560 })
    await signIn(busy.apiKey)
    await show(page)
    await page.mouse.move(0, 0)
    // A palette of 128 colours is a quarter of the size.
    const picture = await page.screenshot({ animations: 'disabled' })
    await sharp(picture)
      .png({ palette: true, colours: 128 })
      .toFile(join(folder, `job-${name}.png`))
  })

  test('a sheet with all of them', async () => {
    const { page } = await consoles.open({ width: 1900, isFaulty: true })
    await drawSheet(page, columns)
  })
})

type Column = { readonly title: string; readonly width: number; readonly files: readonly string[] }

/** Draws the pictures at half their size, a row for each state. */
const drawSheet = async (page: Page, columns: readonly Column[]): Promise<void> => {
  const picture = (file: string, width: number): string =>
    `<td><img src="${pathToFileURL(join(folder, file))}" width="${width / 2}"></td>`
  const rows = (columns[0]?.files ?? []).map((first, row) => {
    const cells = columns.map(({ width, files }) => picture(files[row] ?? '', width)).join('')
    return `<tr valign="top"><th>${first.replace(/-(light|dark)-.*/, '')}</th>${cells}</tr>`
  })
  const head = columns.map(({ title }) => `<th>${title}</th>`).join('')
  await page.goto(pathToFileURL(folder).href)
  await page.setContent(`<table cellpadding="6"><tr><th></th>${head}</tr>${rows.join('')}</table>`)
  await page.screenshot({ path: join(folder, 'sheet.png'), fullPage: true })
}
