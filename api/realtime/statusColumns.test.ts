import { readdirSync, readFileSync } from 'node:fs'
import { getTableColumns } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { presentStatus } from '#api/domain/worlds/present.ts'
import { type WorldRow, worlds } from '#api/domain/worlds/table.ts'

const migrations = new URL('../platform/database/migrations/', import.meta.url)

/** The columns of worlds that the newest definition of the trigger compares. */
const triggerColumns = (): string[] => {
  const files = readdirSync(migrations).filter((file) => file.endsWith('.sql'))
  const text = files
    .sort()
    .map((file) => readFileSync(new URL(file, migrations), 'utf8'))
    .join('\n')
  const definition = text.slice(text.lastIndexOf('CREATE TRIGGER realtime_world_changed'))
  return [...definition.slice(0, definition.indexOf('EXECUTE')).matchAll(/\bNEW\.(\w+)/g)].flatMap(
    ([, column]) => column ?? [],
  )
}

const toSnakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** The columns that a status is made from, recorded while one is presented. */
const columnsOfStatus = (): string[] => {
  const read = new Set<string>()
  const compute = { group: 'production', region: 'Europe' }
  const row: Partial<WorldRow> = {
    phase: 'Active',
    statusMessage: '',
    startedAt: new Date(0),
    resolvedBuild: null,
    runId: null,
    startedWith: { build: null, 'scaling profile': '', capacity: 1, map: '', 'networking strategy': '', place: '' },
    runtime: { mapName: '' },
    networking: { strategy: 'Default', scaling: { profile: 'Capacity30', configuration: null } },
    admission: { policy: 'Open', capacity: 1 },
    compute: compute as WorldRow['compute'],
  }
  presentStatus(
    new Proxy(row as WorldRow, {
      get: (target, name) => {
        if (typeof name === 'string' && name in getTableColumns(worlds)) read.add(name)
        return Reflect.get(target, name)
      },
    }),
  )
  return [...read].map(toSnakeCase)
}

test('the trigger on worlds compares every column that a status is made from, and the deletion', () => {
  expect(triggerColumns().sort()).toEqual([...columnsOfStatus(), 'deleting_at'].sort())
})
