import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { bundleProduct, readFolder } from './bundle.ts'

test('bundles are ASCII, and have the messages of zod in English only', async () => {
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
    // The first words of the messages in Spanish. `import { z } from 'zod'` takes all languages, `import * as z` only what is used.
    expect(content.includes('Entrada inv'), path).toBe(false)
  }
})
