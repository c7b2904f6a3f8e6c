import { type BrowserContext, type CDPSession, chromium, type Page } from 'playwright-core'
import { freePort } from '#dev/ports.ts'
import { findChromium } from '#dev/programs.ts'

// What the functions that run in the page use of it. The types of the DOM would collide with those of Node.
type PageElement = { value: string; readonly textContent: string | null; dispatchEvent(event: Event): boolean }
declare const document: {
  querySelector(selector: string): PageElement | null
  querySelectorAll(selector: string): Iterable<PageElement>
}
declare const requestAnimationFrame: (callback: () => void) => number
declare const MutationObserver: new (
  callback: () => void,
) => { observe(target: PageElement, options: Readonly<Record<string, boolean>>): void }

/** A page of the console in Chromium, with its costs. */
export type ConsolePage = {
  readonly page: Page
  /** Returns the part of the time that the main thread worked while an action ran, from 0 to 1. */
  readonly workDuring: (action: () => Promise<unknown>) => Promise<number>
  /** Returns the bytes of the heap after a garbage collection. */
  readonly heapBytes: () => Promise<number>
}

/** Starts Chromium without a window. Returns its tabs, of which only the one in front is visible, as on a desktop. */
export const launchBrowser = async () => {
  const port = await freePort()
  const browser = await chromium.launch({
    executablePath: findChromium(process.env) ?? 'chromium',
    args: ['--no-sandbox', `--remote-debugging-port=${port}`, '--window-size=1280,900'],
  })
  // By default, each page pretends to be in front.
  const connected = await chromium.connectOverCDP(`http://127.0.0.1:${port}`, { noDefaults: true })
  const [tabs] = connected.contexts()
  if (tabs === undefined) throw new Error('The browser has no default context.')
  return { tabs, close: () => browser.close() }
}

/** Opens a tab in front. */
export const openPage = async (tabs: BrowserContext): Promise<ConsolePage> => {
  const page = await tabs.newPage()
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable')
  return {
    page,
    workDuring: async (action) => {
      const [before, startMs] = [await taskSeconds(session), performance.now()]
      await action()
      return ((await taskSeconds(session)) - before) / ((performance.now() - startMs) / 1_000)
    },
    heapBytes: async () => {
      await session.send('HeapProfiler.collectGarbage')
      return (await session.send('Runtime.getHeapUsage')).usedSize
    },
  }
}

const taskSeconds = async (session: CDPSession): Promise<number> => {
  const { metrics } = await session.send('Performance.getMetrics')
  return metrics.find(({ name }) => name === 'TaskDuration')?.value ?? 0
}

/**
 * Types a filter, and returns the milliseconds from each key to the frame after its change. `expected` is the number of worlds that
 * the page then shows.
 */
export const timeFilter = (page: Page, texts: readonly string[]): Promise<number[]> =>
  page.evaluate(async (wanted) => {
    const field = document.querySelector('#filter')
    if (field === null) throw new Error('The page has no filter.')
    const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))
    const times: number[] = []
    for (const text of wanted) {
      await painted()
      const startMs = performance.now()
      field.value = text
      field.dispatchEvent(new Event('input', { bubbles: true }))
      await painted()
      times.push(performance.now() - startMs)
    }
    return times
  }, texts)

/** A name `n-<n>` that a frame showed at a time in milliseconds since 1970. */
export type Painted = { readonly n: number; readonly atMs: number }

/** Records in the page the time of each frame that first shows a name `n-<n>`. Returns a function that reads the record. */
export const recordNames = async (page: Page): Promise<() => Promise<Painted[]>> => {
  await page.evaluate(() => {
    const seen = new Map<number, number>()
    Object.assign(globalThis, { seen })
    const look = (): void => {
      const atMs = performance.timeOrigin + performance.now()
      for (const link of document.querySelectorAll('[role=rowgroup] a')) {
        const n = /^n-(\d+)$/.exec(link.textContent ?? '')?.[1]
        if (n !== undefined && !seen.has(Number(n))) seen.set(Number(n), atMs)
      }
    }
    const table = document.querySelector('[role=rowgroup]')
    if (table === null) throw new Error('The page has no table.')
    const onChange = (): void => void requestAnimationFrame(() => setTimeout(look))
    new MutationObserver(onChange).observe(table, { subtree: true, childList: true, characterData: true })
  })
  return () =>
    page.evaluate(() => {
      const { seen } = globalThis as unknown as { seen: Map<number, number> }
      return [...seen].map(([n, atMs]) => ({ n, atMs }))
    })
}
