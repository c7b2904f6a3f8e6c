import { execFile, execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { transform } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findChromium } from '#dev/programs.ts'
import { openBrowser } from '#test/support/browser.ts'
import { aClientProject } from '#test/support/clientProject.ts'
import { type ApiProcess, aDatabase, startApi } from '#test/support/processes.ts'
import { aTenant } from '#test/support/tenant.ts'

const program = readFileSync(new URL('program.ts', import.meta.url), 'utf8')
const checkout = fileURLToPath(new URL('../../..', import.meta.url))

/** The oldest Node that the package supports, if this machine has one. */
const node20 = (process.env.PATH ?? '')
  .split(':')
  .map((folder) => join(folder, 'node'))
  .find((file) => existsSync(file) && /^v20\./.test(execFileSync(file, ['--version'], { encoding: 'utf8' })))

let project: ReturnType<typeof aClientProject>
beforeAll(() => {
  project = aClientProject()
})
afterAll(() => project?.remove())

test('the package has the version of the checkout, no side effects, and no dependency but bs58', () => {
  const manifest = JSON.parse(readFileSync(join(project.dir, 'node_modules/@orrery/client/package.json'), 'utf8'))
  const { version } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8'))
  expect(manifest).toMatchObject({ version, sideEffects: false, dependencies: { bs58: expect.any(String) } })
  expect(Object.keys(manifest.dependencies)).toHaveLength(1)
  for (const file of ['README.md', 'LICENSE']) {
    expect(existsSync(join(project.dir, 'node_modules/@orrery/client', file)), file).toBe(true)
  }
})

test.each(['nodenext', 'bundler'] as const)('a strict program passes tsc with moduleResolution %s', (resolution) => {
  project.checkTypes(project.write('program.ts', program), resolution)
})

describe('a program with the installed package runs against an API', () => {
  let api: ApiProcess
  let browser: Awaited<ReturnType<typeof openBrowser>> | undefined
  beforeAll(async () => {
    const page = project.write('page.ts', program)
    browser = findChromium(process.env) === undefined ? undefined : await openBrowser(page)
    const settings = browser === undefined ? {} : { ORRERY_ALLOWED_ORIGINS: browser.origin }
    api = await startApi({ databaseUrl: await aDatabase(), settings })
    project.write('program.js', (await transform(program, { loader: 'ts' })).code)
  })
  afterAll(async () => {
    await browser?.close()
    await api?.stop()
  })

  const options = async () => {
    const { scope, paths, key } = await aTenant(api.url)
    return { ...scope, baseUrl: api.url, apiKey: await key([`${paths.project}/**:*`]) }
  }
  const expected = ['Lobby', 'Inactive', 'not_found', 'undefined']
  /** Node 20 has no WebSocket, so the program uses that of `ws` there. */
  const webSocket = pathToFileURL(join(checkout, 'node_modules/ws/wrapper.mjs')).href
  const script = `
    globalThis.WebSocket ??= (await import(${JSON.stringify(webSocket)})).WebSocket
    await import('./program.js')
    console.log(JSON.stringify(await tour(JSON.parse(process.argv[1]))))`
  const run = async (node: string) => {
    const args = ['--input-type=module', '--eval', script, JSON.stringify(await options())]
    return JSON.parse((await promisify(execFile)(node, args, { cwd: project.dir })).stdout)
  }

  test(`in Node ${process.versions.node}`, async () => {
    expect(await run(process.execPath)).toEqual(expected)
  })

  test.skipIf(node20 === undefined)('in Node 20', async () => {
    expect(await run(node20 ?? '')).toEqual(expected)
  })

  test.skipIf(findChromium(process.env) === undefined)('in Chromium, bundled', async () => {
    if (browser === undefined) throw new Error('No browser was opened.')
    const { page, errors } = await browser.page(browser.origin)
    const seen = await page.evaluate((given) => Reflect.get(globalThis, 'tour')(given), await options())
    expect(seen).toEqual(expected)
    expect(errors).toEqual([])
  })
})
