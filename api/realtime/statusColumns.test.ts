import { readdirSync, readFileSync } from 'node:fs'
import { getTableColumns } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { presentStatus } from '#api/domain/worlds/present.ts'
import { type WorldRow, worlds } from '#api/domain/worlds/table.ts'
import { serverSettings } from '#shared/domain/world.ts'

const migrations = new URL('../platform/database/migrations/', import.meta.url)

/** Returns the columns of worlds that the newest definition of a trigger compares. */
const triggerColumns = (trigger: string): string[] => {
  const files = readdirSync(migrations).filter((file) => file.endsWith('.sql'))
  const text = files
    .sort()
    .map((file) => readFileSync(new URL(file, migrations), 'utf8'))
    .join('\n')
  const definition = text.slice(text.lastIndexOf(`CREATE TRIGGER ${trigger}`))
  const columns = definition.slice(0, definition.indexOf('EXECUTE')).matchAll(/\bNEW\.(\w+)/g)
  return [...new Set([...columns].flatMap(([, column]) => column ?? []))]
}

const toSnakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** Returns the columns that presenting a status reads. */
const columnsOfStatus = (): string[] => {
  const read = new Set<string>()
  const row: Partial<WorldRow> = {
    phase: 'Active',
    statusMessage: '',
    startedAt: new Date(0),
    resolvedBuild: null,
    runId: null,
    address: null,
    conditions: [],
    waitsFor: null,
    startedWith: { build: null, 'scaling profile': '', capacity: 1, map: '', 'networking strategy': '', place: '' },
    ...serverSettings.parse({}),
    networking: {
      ...serverSettings.parse({}).networking,
      scaling: { profile: 'Capacity30', configuration: null },
    },
    admission: { policy: 'Open', capacity: 1 },
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

test('compares the counts of the feed in a trigger of its own', () => {
  const counts = ['queue_active', 'queue_queued', 'queue_reported', 'restarts']
  expect(triggerColumns('realtime_world_counted').sort()).toEqual(['deleting_at', 'followed_version', ...counts])
})

test('compares every column of a world status, the name and the deletion, in the trigger on worlds', () => {
  expect(triggerColumns('realtime_world_changed').sort()).toEqual([...columnsOfStatus(), 'name', 'deleting_at'].sort())
})
