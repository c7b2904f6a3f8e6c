import { expect, test } from 'vitest'
import { findOrderFaults, type Source } from './importOrder.ts'

const source = (file: string, ...lines: string[]): Source => ({ file, text: lines.join('\n') })

test.each([
  ['a lower folder', source('api/sync/push.ts', "import { a } from '#api/domain/worlds/table.ts'")],
  ['another file of its folder', source('api/domain/bots/service.ts', "import { a } from './table.ts'")],
  ['a lower folder by a relative path', source('api/main.ts', "import { a } from './domain/worlds/table.ts'")],
  ['a package', source('shared/log.ts', "import pino from 'pino'")],
])('allows an import of %s', (_, file) => {
  expect(findOrderFaults([file])).toEqual([])
})

test.each([
  ['an import', "import { a } from '#api/domain/bots/table.ts'"],
  ['a type import', "import type { A } from '#api/domain/bots/table.ts'"],
  ['an import of several lines', "import {\n  a,\n} from '#api/domain/bots/table.ts'"],
  ['an import for its side effects', "import '#api/domain/bots/table.ts'"],
  ['a dynamic import', "const a = await import('#api/domain/bots/table.ts')"],
  ['an export', "export { a } from '#api/domain/bots/table.ts'"],
  ['a relative import', "import { a } from '../../domain/bots/table.ts'"],
])('forbids %s of a higher folder', (_, line) => {
  expect(findOrderFaults([source('api/platform/http/page.ts', "import { z } from 'zod'", line)])).toEqual([
    'api/platform/http/page.ts imports api/domain/bots/table.ts. Files in api/platform may import shared.',
  ])
})

test.each([
  ['realtime', 'sync', source('api/realtime/tail.ts', "import { a } from '#api/sync/index.ts'")],
  ['sync', 'realtime', source('api/sync/index.ts', "import { a } from '#api/realtime/tail.ts'")],
  ['the API', 'the operator', source('api/main.ts', "import { a } from '#operator/main.ts'")],
  ['merge', 'the platform', source('api/sync/merge/world.ts', "import { a } from '#api/platform/database/client.ts'")],
])('forbids an import of %s to %s', (_, __, file) => {
  expect(findOrderFaults([file])).toHaveLength(1)
})

test('forbids an import of any other folder in shared', () => {
  expect(findOrderFaults([source('shared/ids.ts', "import { a } from '#api/main.ts'")])).toEqual([
    'shared/ids.ts imports api/main.ts. Files in shared may import no other folder.',
  ])
})

test('names each import between two folders that is part of a cycle, however long', () => {
  const circle = [
    source('api/domain/bots/service.ts', "import { a } from '#api/domain/worlds/service.ts'"),
    source('api/domain/worlds/service.ts', "import { a } from '../builds/service.ts'"),
    source('api/domain/builds/service.ts', "import type { A } from '#api/domain/bots/table.ts'"),
    source('api/domain/bots/events/changes.ts', "import { a } from '#api/domain/worlds/service.ts'"),
    source('api/domain/usage/service.ts', "import { a } from '#api/domain/worlds/service.ts'"),
  ]
  expect(findOrderFaults(circle)).toEqual([
    'api/domain: worlds → builds is part of a cycle (1 imports, such as api/domain/worlds/service.ts imports api/domain/builds/service.ts).',
    'api/domain: builds → bots is part of a cycle (1 imports, such as api/domain/builds/service.ts imports api/domain/bots/table.ts).',
    'api/domain: bots → worlds is part of a cycle (2 imports, such as api/domain/bots/service.ts imports api/domain/worlds/service.ts).',
  ])
})

test('allows folders that import each other in one direction', () => {
  const line = [
    source('api/domain/bots/service.ts', "import { a } from '#api/domain/worlds/service.ts'"),
    source('api/domain/worlds/service.ts', "import { a } from '#api/domain/builds/service.ts'"),
  ]
  expect(findOrderFaults(line)).toEqual([])
})
