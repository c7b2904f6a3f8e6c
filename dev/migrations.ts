import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

// Part of `npm run lint`: fails if the tables differ from the result of the committed migrations.
const committed = fileURLToPath(new URL('../api/platform/database/migrations', import.meta.url))
const scratch = mkdtempSync(join(tmpdir(), 'orrery-migrations-'))
try {
  cpSync(committed, scratch, { recursive: true })
  execFileSync(
    'drizzle-kit',
    [
      'generate',
      '--dialect=postgresql',
      '--schema=./api/**/table.ts',
      `--out=${relative(process.cwd(), scratch)}`,
      '--casing=snake_case',
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  )
  const missing = readdirSync(scratch).filter((file) => file.endsWith('.sql') && !readdirSync(committed).includes(file))
  if (missing.length > 0) {
    process.stderr.write(
      'The tables differ from api/platform/database/migrations: run `npm run migrations` and commit what it writes.\n',
    )
    process.exitCode = 1
  }
} finally {
  rmSync(scratch, { recursive: true, force: true })
}
