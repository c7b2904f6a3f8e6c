import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { bundleProduct, readFolder } from './bundle.ts'

test('bundles are ASCII, and import no module of Node as a whole', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'orrery-bundle-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  await bundleProduct(folder)
  const programs = [...readFolder(folder)].filter(([path]) => path.endsWith('.mjs'))
  expect(programs.map(([path]) => path)).toEqual(expect.arrayContaining(['api.mjs', 'operator.mjs', 'orrery.mjs']))
  for (const [path, content] of programs) {
    expect(
      content.some((byte) => byte > 0x7f),
      path,
    ).toBe(false)
    const imported = [...content.toString('ascii').matchAll(/\bfrom\s*['"](node:[^'"]+)['"]/g)].map(([, name]) => name)
    // The line with which each bundle begins.
    expect(new Set(imported), path).toEqual(new Set(['node:module']))
  }
})
