import { afterAll, beforeAll, expect, test } from 'vitest'
import { aConsole, describeConsole } from '#test/support/consolePage.ts'
import { type ApiProcess, aDatabase, rootApiKey, startApi } from '#test/support/processes.ts'

// The rules that `aConsole` checks after each test of the console: each finds what it forbids.
describeConsole('a test of the console fails for', () => {
  let api: ApiProcess
  beforeAll(async () => {
    api = await startApi({ databaseUrl: await aDatabase() })
  })
  afterAll(() => api?.stop())
  const consoles = aConsole(() => api.url)

  const key = JSON.stringify(rootApiKey)
  test.each([
    ['an error of the console', 'console.error("broken")', /^console: broken/],
    ['a warning', 'console.warn("odd")', /^console: odd/],
    ['an exception', 'setTimeout(() => { throw new Error("thrown") })', /^error: Error: thrown/],
    ['a dialog', 'setTimeout(() => alert("hello"))', /^dialog: hello/],
    ['a violation of the policy', 'document.body.innerHTML = "<b>bold</b>"', /^policy: require-trusted-types-for/],
    [
      'a request to another origin',
      'fetch("http://other.invalid/").catch(() => undefined)',
      /^policy: connect-src http:/,
    ],
    ['a page of another origin', 'open("http://other.invalid/")', /^request to another origin/],
    ['a socket of another origin', 'void new WebSocket("ws://other.invalid/")', /^policy: connect-src ws:/],
    ['a key in the URL', `history.pushState(null, "", "?key=" + ${key})`, /^a key in the URL or the history/],
    ['a key in the history', `history.replaceState(${key}, "")`, /^a key in the URL or the history/],
    [
      'a code in the history',
      'history.replaceState(null, "", "?code=secret"); history.pushState(null, "", "?")',
      /^a code of an issuer in the history/,
    ],
    ['a key in localStorage', `localStorage.setItem("a", ${key})`, /^a key in cookies, localStorage or IndexedDB/],
    ['a key in sessionStorage', `sessionStorage.setItem("a", ${key})`, /^a key in sessionStorage/],
    ['a key in a cookie', `document.cookie = "a=" + ${key}`, /^a key in cookies, localStorage or IndexedDB/],
    ['a key in the page', `document.title = ${key}`, /^a key in the text of the page/],
  ])('%s', async (_, act, fault) => {
    const { page, faults } = await consoles.open({ isFaulty: true })
    await page.evaluate(`try { ${act} } catch {}`)
    await expect.poll(faults, { timeout: 30_000 }).toContainEqual(expect.stringMatching(fault))
  })
})
