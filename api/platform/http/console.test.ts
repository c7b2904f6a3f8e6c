import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Hono } from 'hono'
import { expect, onTestFinished, test } from 'vitest'
import { chooseEncoding, notBuilt, readConsole, serveConsole } from './console.ts'
import { Problem } from './problem.ts'

test('a folder with a part of the console counts as not built', () => {
  const folder = mkdtempSync(join(tmpdir(), 'orrery-console-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'index.html'), '')
  expect(readConsole(folder).size).toBe(0)
  mkdirSync(join(folder, 'assets'))
  expect(readConsole(folder).size).toBe(1)
})

test.each([
  [undefined, 'identity'],
  ['', 'identity'],
  ['gzip, deflate, br, zstd', 'br'],
  ['gzip', 'gzip'],
  ['GZIP;Q=1', 'gzip'],
  ['*', 'br'],
  ['*;q=0', 'identity'],
  ['br;q=0, *', 'gzip'],
  ['br;q=0.5, gzip;q=0.8', 'gzip'],
  ['br; q=0.2, identity;q=0.9', 'identity'],
  ['br;q=x, gzip;q=0, identity', 'identity'],
  ['identity;q=0', 'identity'],
])('for Accept-Encoding %j the encoding is %s', (header, encoding) => {
  expect(chooseEncoding(header, ['br', 'gzip', 'identity'])).toBe(encoding)
})

test('without files every path below the console says how to build them', () => {
  const app = new Hono<{ Variables: { headers: Record<string, string> } }>()
  app.get('/console/*', (c) => serveConsole(new Map(), c))
  app.onError((error, c) => c.text(error.message, error instanceof Problem ? 404 : 500))
  const refused = ['/console/', '/console/assets/a.js'].map(async (path) => {
    const answer = await app.request(path)
    return [answer.status, await answer.text()]
  })
  return expect(Promise.all(refused)).resolves.toEqual([
    [404, notBuilt],
    [404, notBuilt],
  ])
})
