import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { beforeAll, expect, test } from 'vitest'
import { buildConsole, consoleSizes } from './build.ts'

const folder = mkdtempSync(join(tmpdir(), 'orrery-console-test-'))
let packages: string[]
beforeAll(async () => {
  packages = await buildConsole(folder)
  return () => rmSync(folder, { recursive: true })
})

test('the first load is at most 60 kB and the whole console at most 160 kB, compressed with gzip', () => {
  const { firstLoad, all } = consoleSizes(folder)
  process.stderr.write(`[console] first load ${firstLoad} bytes, all ${all} bytes\n`)
  expect(firstLoad).toBeGreaterThan(1_000)
  expect(firstLoad).toBeLessThanOrEqual(60_000)
  expect(all).toBeLessThanOrEqual(160_000)
})

test('every file has its compressed forms, and names of assets contain a hash', () => {
  const assets = readdirSync(join(folder, 'assets')).filter((name) => !/\.(br|gz)$/.test(name))
  expect(assets.length).toBeGreaterThan(0)
  for (const name of ['index.html', ...assets.map((each) => `assets/${each}`)]) {
    const content = readFileSync(join(folder, name))
    expect(brotliDecompressSync(readFileSync(join(folder, `${name}.br`))).equals(content)).toBe(true)
    expect(gunzipSync(readFileSync(join(folder, `${name}.gz`))).equals(content)).toBe(true)
  }
  for (const name of assets) expect(name).toMatch(/-[\w-]{8}\.\w+$/)
})

test('the page has no script, style or event handler of its own, which its policy would refuse', () => {
  const page = readFileSync(join(folder, 'index.html'), 'utf8')
  expect(page).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=/)
})

test('builds at the same time leave one whole folder and nothing else', async () => {
  const outDir = join(folder, 'out')
  await Promise.all([buildConsole(outDir), buildConsole(outDir)])
  expect(readdirSync(folder).filter((name) => name.startsWith('out'))).toEqual(['out'])
  expect(readdirSync(outDir).toSorted()).toEqual(
    readdirSync(folder)
      .filter((name) => name !== 'out')
      .toSorted(),
  )
})

test('names the packages in the bundle', () => {
  expect(packages.map((path) => basename(path))).toContain('preact')
})
