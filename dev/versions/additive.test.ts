import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { breakingStatements } from './additive.ts'
import { firstMigration } from './previous.ts'

const folder = fileURLToPath(new URL('../../api/platform/database/migrations/', import.meta.url))
const later = readdirSync(folder).filter((file) => file.endsWith('.sql') && file > `${firstMigration}.sql`)

test.each([
  'ALTER TABLE "worlds" DROP COLUMN "a"',
  'ALTER TABLE "worlds" RENAME COLUMN "a" TO "b"',
  'ALTER TABLE "worlds" ALTER COLUMN "a" SET DATA TYPE bigint',
  'ALTER TABLE "worlds" ALTER COLUMN "a" SET NOT NULL',
  'ALTER TABLE "worlds" ADD COLUMN "a" text NOT NULL',
])('%s breaks the previous version', (statement) => {
  expect(breakingStatements(statement)).toHaveLength(1)
})

test.each([
  'ALTER TABLE "worlds" ADD COLUMN "a" text',
  `ALTER TABLE "worlds" ADD COLUMN "a" jsonb DEFAULT '{}'::jsonb NOT NULL`,
  'CREATE TABLE "a" ("id" text PRIMARY KEY NOT NULL)',
  '-- contract: unused since 0.2.0\nALTER TABLE "worlds" DROP COLUMN "a"',
])('%s keeps the previous version working', (statement) => {
  expect(breakingStatements(statement)).toEqual([])
})

test('every migration after the first one keeps the previous version working', () => {
  for (const file of later) expect.soft(breakingStatements(readFileSync(folder + file, 'utf8')), file).toEqual([])
})
