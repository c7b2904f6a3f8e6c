import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { packTar } from './tar.ts'

test('tar reads an archive with entries of any length', () => {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-tar-'))
  const long = `${'deep/'.repeat(25)}file`
  const archive = packTar([
    { path: 'app', mode: 0o755 },
    { path: 'app/exact', mode: 0o644, content: Buffer.alloc(512, 'x') },
    { path: 'app/short', mode: 0o755, content: Buffer.from('y') },
    { path: long, mode: 0o644, content: Buffer.from('z') },
  ])
  execFileSync('tar', ['-xf', '-', '-C', dir], { input: archive })
  const shown = execFileSync('find', ['.', '-type', 'f', '-printf', '%P %m %s\n'], { cwd: dir, encoding: 'utf8' })
  expect(shown.trim().split('\n').sort()).toEqual(['app/exact 644 512', 'app/short 755 1', `${long} 644 1`])
  rmSync(dir, { recursive: true })
})

test('the same entries give the same bytes', () => {
  const entries = [{ path: 'a', mode: 0o644, content: Buffer.from('a') }]
  expect(packTar(entries).equals(packTar(entries))).toBe(true)
})
