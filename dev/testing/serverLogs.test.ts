import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { logFolderOf, readWarnings } from './serverLogs.ts'

const logDir = mkdtempSync(join(tmpdir(), 'orrery-logs-'))
afterAll(() => rmSync(logDir, { recursive: true, force: true }))

const line = (level: string, second: number): string =>
  JSON.stringify({ level, time: `2026-01-01T00:00:${String(second).padStart(2, '0')}.000Z`, msg: `at ${second}` })

test('gives the last 20 lines of level warn or higher of the servers of one test file, by time', () => {
  const folder = logFolderOf(logDir, 'test/integration/contract/worlds.test.ts')
  mkdirSync(folder, { recursive: true })
  const lines = Array.from({ length: 30 }, (_, second) => line(second % 2 === 0 ? 'warn' : 'info', second))
  writeFileSync(join(folder, 'api-1.log'), `plain text\n${lines.join('\n')}\n`)
  writeFileSync(
    join(folder, 'operator-2.log'),
    `${Array.from({ length: 9 }, (_, n) => line('fatal', 40 + n)).join('\n')}\n`,
  )
  const shown = readWarnings(logDir, 'test/integration/contract/worlds.test.ts')
  expect(shown).toHaveLength(20)
  expect(shown[0]).toContain('api-1: ')
  expect(shown[0]).toContain('at 8')
  expect(shown.at(-1)).toBe(`operator-2: ${line('fatal', 48)}`)
  expect(readWarnings(logDir, 'test/integration/other.test.ts')).toEqual([])
})
