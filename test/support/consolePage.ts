import { join } from 'node:path'
import axe from 'axe-core'
import base58 from 'bs58'
import { type Browser, chromium, type Page, type Response } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect } from 'vitest'
import { findChromium } from '#dev/programs.ts'
import { rootApiKey } from './processes.ts'
import { getServers } from './servers.ts'
import { patience } from './wait.ts'

type Options = {
  /** The path and query below `/console/`. */
  readonly path?: string
  readonly colorScheme?: 'light' | 'dark'
  /** Pixels. */
  readonly width?: number
  readonly height?: number
  /** The origin of an issuer, to whose pages the browser may go. */
  readonly issuer?: string
  /** Messages of Chromium that the test causes, such as the status of a request that the API refuses. */
  readonly mayLog?: readonly RegExp[]
  /** The test checks the faults itself. */
  readonly isFaulty?: boolean
}

/** A page of the console in a browser profile of its own. */
export type ConsolePage = {
  readonly page: Page
  /** The requests of the page to REST, such as `GET /api/worlds/`, oldest first. */
  readonly requests: readonly string[]
  /** Signs in, and waits until the form is gone. With `isKept` the tab may keep the key. */
  readonly signIn: (apiKey: string, options?: { isKept?: boolean }) => Promise<void>
  /** Goes to the issuer `Example`, gives its form a login, and follows to the console. With `isKept` the tab may keep the tokens. */
  readonly signInAtIssuer: (login: string, options?: { isKept?: boolean }) => Promise<void>
  /** Names a key that the page gets in another way, so that it must not be found anywhere either. */
  readonly mustHide: (apiKey: string) => void
  /** Returns what the page did that no page of the console may do. */
  readonly faults: () => Promise<string[]>
}

/** A `describe` of tests that need Chromium. */
export const describeConsole = describe.skipIf(findChromium(process.env) === undefined)

/**
 * Opens pages of the console of an API, in one browser for the file. After each test it closes them, and fails the test if one of
 * them had a console error or warning, an error, a dialog, a violation of its policy, a request to another origin, a WebSocket without
 * a ticket, a code of an issuer in the history, or a key or a token in the URL, the history, a storage or the handshake of a WebSocket.
 * The pages of a failed test are pictures in the folder of the logs.
 */
export const aConsole = (originOf: () => string) => {
  let browser: Browser
  const opened: { page: Page; faults: ConsolePage['faults'] }[] = []
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: findChromium(process.env) ?? 'chromium' })
  })
  afterEach(async ({ task }) => {
    const pages = opened.splice(0)
    const faults = await Promise.all(pages.map((each) => each.faults()))
    for (const [index, { page }] of pages.entries()) {
      if (task.result?.state === 'fail')
        await page.screenshot({ path: join(getServers().logDir, `${task.id}-${index}.png`) })
      await page.context().close()
    }
    expect(faults.flat()).toEqual([])
  })
  afterAll(() => browser?.close())

  return {
    /** Opens a page. */
    open: async (options: Options = {}): Promise<ConsolePage> => {
      const page = await newPage(browser, options)
      const watched = await watch(page, { origin: originOf(), ...options })
      opened.push({ page, faults: options.isFaulty ? async () => [] : watched.faults })
      await page.goto(`${originOf()}/console/${options.path ?? ''}`)
      return { page, ...watched }
    },
    /** Opens a page outside of the policy, and returns it with a function that returns its violations of WCAG 2.2 A and AA. */
    openForAxe: async (options: Options = {}) => {
      // The rules run as a script, which the policy forbids.
      const page = await newPage(browser, options, { bypassCSP: true })
      opened.push({ page, faults: async () => [] })
      await page.goto(`${originOf()}/console/${options.path ?? ''}`)
      return { page, violations: () => violationsOf(page) }
    },
  }
}

const newPage = async (browser: Browser, { colorScheme = 'light', width = 1280, height = 800 }: Options, more = {}) => {
  const context = await browser.newContext({ colorScheme, viewport: { width, height }, ...more })
  context.setDefaultTimeout(15_000 * patience)
  return context.newPage()
}

/** Fills the form of a page and sends it. */
export const sendKey = async (page: Page, apiKey: string, { isKept = false } = {}): Promise<void> => {
  await page.getByLabel('API key').fill(apiKey)
  await page.getByRole('checkbox').setChecked(isKept)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}

/** Chromium reports each answer that is not 2xx. A cluster of a test has no metrics, and a new server no sample. */
const noMetrics = /status of (409|501) .*\/metrics\/\)$/

type Watched = Pick<Options, 'mayLog' | 'issuer'> & { readonly origin: string }

const watch = async (page: Page, { origin, issuer, mayLog = [] }: Watched) => {
  const faults: string[] = []
  const requests: string[] = []
  const urls: string[] = []
  const context = page.context()
  const secrets = new Set([rootApiKey])
  let mayKeep = false
  const visit = (url: string, { mayBeIssuer = false } = {}): void => {
    urls.push(url)
    const { protocol, host } = new URL(url)
    const target = `${protocol.replace('ws', 'http')}//${host}`
    const isOwn = protocol === 'data:' || target === origin || (mayBeIssuer && target === issuer)
    if (!isOwn) faults.push(`request to another origin: ${url}`)
  }
  const answers: Promise<void>[] = []
  const hideTokens = async (response: Response): Promise<void> => {
    const { accessToken, refreshToken } = (await response.json()) as Record<string, string | undefined>
    for (const token of [accessToken, refreshToken]) if (token !== undefined) secrets.add(token)
  }
  context.on('response', (response) => {
    const isAnswer = /^\/api\/sign-in\/(tokens|refresh)\/$/.test(new URL(response.url()).pathname)
    // The answer is gone if the page has left meanwhile.
    if (isAnswer && response.ok()) answers.push(hideTokens(response).catch(() => undefined))
  })
  context.on('console', (message) => {
    const { url } = message.location()
    const text = `${message.text()} (${url})`
    // The pages of an issuer are not the console.
    if (issuer !== undefined && url.startsWith(`${issuer}/`)) return
    const isFault =
      ['error', 'warning'].includes(message.type()) && ![...mayLog, noMetrics].some((each) => each.test(text))
    if (isFault) faults.push(`console: ${text}`)
  })
  context.on('weberror', (error) => faults.push(`error: ${error.error()}`))
  page.on('crash', () => faults.push('crash'))
  context.on('dialog', async (dialog) => {
    faults.push(`dialog: ${dialog.message()}`)
    await dialog.dismiss()
  })
  context.on('request', (request) => {
    // The console only leads to an issuer; it requests nothing there.
    visit(request.url(), {
      mayBeIssuer: request.isNavigationRequest() || new URL(request.frame().url()).origin === issuer,
    })
    const { pathname, search } = new URL(request.url())
    if (/^\/api\/(?!realtime\/)/.test(pathname)) requests.push(`${request.method()} ${pathname}${search}`)
  })
  let isConnected = false
  page.on('websocket', (socket) => {
    visit(socket.url())
    socket.on('framereceived', () => {
      isConnected = true
    })
  })
  const handshakes: string[] = []
  const cdp = await context.newCDPSession(page)
  await cdp.send('Network.enable')
  cdp.on('Network.webSocketWillSendHandshakeRequest', ({ request }) => {
    const protocols = new Headers(request.headers).get('sec-websocket-protocol') ?? ''
    const lists = protocols.split(/, */).map((each) => base58.decodeUnsafe(each) ?? '')
    const sent = [JSON.stringify(request.headers), ...lists.map((list) => Buffer.from(list).toString())].join('\n')
    if (!sent.includes('x-realtime-ticket:')) faults.push('a handshake of a WebSocket without a ticket')
    handshakes.push(sent)
  })
  page.on('framenavigated', (frame) => urls.push(frame.url()))
  await page.exposeFunction('reportPolicy', (text: string) => faults.push(`policy: ${text}`))
  await page.addInitScript({
    content: `addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sample }) =>
      reportPolicy([violatedDirective, blockedURI, sample].join(' ')))`,
  })
  const secretsIn = (place: string, text: string): string[] =>
    [...secrets].some((secret) => text.includes(secret) || text.includes(encodeURIComponent(secret)))
      ? [`a key in ${place}`]
      : []

  return {
    requests,
    mustHide: (apiKey: string): void => void secrets.add(apiKey),
    signIn: async (apiKey: string, { isKept = false } = {}) => {
      secrets.add(apiKey)
      mayKeep ||= isKept
      await sendKey(page, apiKey, { isKept })
      await page.getByLabel('API key').waitFor({ state: 'detached' })
    },
    signInAtIssuer: async (login: string, { isKept = false } = {}) => {
      mayKeep ||= isKept
      await page.getByRole('checkbox').setChecked(isKept)
      await page.getByRole('button', { name: 'Sign in with Example' }).click()
      await page.getByLabel('Login').fill(login)
      await page.getByRole('button', { name: 'Continue' }).click()
      await page.waitForURL((url) => url.origin === origin)
    },
    faults: async () => {
      await Promise.all(answers)
      const { entries } = await cdp.send('Page.getNavigationHistory')
      const codes = entries.filter(({ url }) => url.startsWith(origin) && new URL(url).searchParams.has('code'))
      const { tab, state, text } = await page.evaluate<{ tab: string[]; state: string; text: string }>(`({
        tab: Object.entries(sessionStorage).map((entry) => entry.join()),
        state: JSON.stringify([history.state, window.name]),
        text: document.documentElement.outerHTML,
      })`)
      const kept = tab.filter((entry) => secretsIn('', entry).length > 0)
      return [
        ...faults,
        ...codes.map(({ url }) => `a code of an issuer in the history: ${url}`),
        ...secretsIn('the URL or the history', [...urls, state].join('\n')),
        ...secretsIn(
          'cookies, localStorage or IndexedDB',
          JSON.stringify(await context.storageState({ indexedDB: true })),
        ),
        ...(kept.length > (mayKeep ? 1 : 0) ? ['a key in sessionStorage'] : []),
        ...secretsIn('the handshake of a WebSocket', handshakes.join('\n')),
        // Without the event of the handshake, or the list in it, no key would ever be found.
        ...(isConnected && handshakes.length === 0 ? ['a connection without the event of its handshake'] : []),
        ...secretsIn('the text of the page', text),
      ]
    },
  }
}

const levels = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']

const violationsOf = async (page: Page): Promise<string[]> => {
  await page.evaluate(axe.source)
  const { violations } = await page.evaluate<{
    violations: { id: string; nodes: { html: string; failureSummary: string }[] }[]
  }>(`axe.run(document, { runOnly: ${JSON.stringify(levels)} })`)
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  )
}
