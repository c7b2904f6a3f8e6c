import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createDatabase, startPostgres } from './postgres.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'orrery-postgres-'))
  // Accessible to every account, so that the data stays here even if root runs the test.
  chmodSync(dir, 0o755)
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const dataOf = (majorVersion: string): void => {
  mkdirSync(join(dir, 'data'))
  writeFileSync(join(dir, 'data', 'PG_VERSION'), `${majorVersion}\n`)
}
const start = () => startPostgres({ dir, logDir: dir, durable: false, progress: () => undefined })

describe('kept data', () => {
  test('of another major version is refused with an error that says what to do', async () => {
    dataOf('17')
    await expect(start()).rejects.toThrow(/is of Postgres 17, and this is Postgres 18\. Start with --reset/)
  })

  test('without its password is refused with an error that says what to do', async () => {
    dataOf('18')
    await expect(start()).rejects.toThrow(/password of the Postgres data in .* is missing.*--reset/)
  })
})

test('refuses a database name that needs quoting in SQL', async () => {
  await expect(createDatabase('postgres://127.0.0.1:1/none', 'a"; drop table x')).rejects.toThrow('not a database name')
})
