import { expect, test } from 'vitest'
import { drawImports, findImportFaults, laws, type Source } from './importOrder.ts'

const source = (file: string, ...lines: string[]): Source => ({ file, text: lines.join('\n') })

test.each([
  ['a lower folder', source('api/sync/push.ts', "import { a } from '#api/domain/worlds/table.ts'")],
  ['another file of its folder', source('api/domain/bots/bots.ts', "import { a } from './table.ts'")],
  ['a lower folder by a relative path', source('api/main.ts', "import { a } from './domain/worlds/table.ts'")],
  ['a package', source('shared/log.ts', "import pino from 'pino'")],
])('allows an import of %s', (_, file) => {
  expect(findImportFaults([file])).toEqual([])
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
  expect(findImportFaults([source('api/platform/http/page.ts', "import { z } from 'zod'", line)])).toEqual([
    'api/platform/http/page.ts imports api/domain/bots/table.ts. Files in api/platform may import shared.',
  ])
})

test.each([
  ['realtime', 'sync', source('api/realtime/tail.ts', "import { a } from '#api/sync/oneCluster.ts'")],
  ['sync', 'realtime', source('api/sync/oneCluster.ts', "import { a } from '#api/realtime/tail.ts'")],
  ['the API', 'the operator', source('api/main.ts', "import { a } from '#operator/main.ts'")],
  ['worlds', 'bots', source('operator/world/execute/trace.ts', "import { a } from '../../bots/plan.ts'")],
  ['pods', 'lifecycle', source('operator/pods/pod.ts', "import { a } from '#operator/lifecycle/plan.ts'")],
  ['the operator', 'the API', source('operator/main.ts', "import { a } from '#api/main.ts'")],
  ['merge', 'the platform', source('api/sync/merge/world.ts', "import { a } from '#api/platform/database/client.ts'")],
])('forbids an import of %s to %s', (_, __, file) => {
  expect(findImportFaults([file])).toHaveLength(1)
})

const lawless: readonly [string, Source][] = [
  ['tests in shared', source('shared/ids.test.ts', "import { a } from '#test/support/processes.ts'")],
  ['the kube kit', source('shared/kube/client.ts', "import { a } from '../ids.ts'")],
  ['the client', source('client/realtime/client.ts', "import { a } from 'node:net'")],
  ['tests of the console', source('console/state/sort.test.ts', "import { a } from '#test/support/processes.ts'")],
  ['the console', source('console/parts/App.tsx', "import { a } from '#shared/log.ts'")],
  ['the state of the console', source('console/state/sort.ts', "import { signal } from '@preact/signals'")],
  ['the explanations', source('shared/why/why.ts', "import * as z from 'zod'")],
  ['the decisions of the operator', source('operator/world/plan.ts', "import { a } from './execute/reconcile.ts'")],
  ['the rules of the API', source('api/domain/worlds/present.ts', "import { sql } from 'drizzle-orm'")],
]

test.each(lawless)('a law forbids an import of %s', (_, file) => {
  expect(findImportFaults([file])).toHaveLength(1)
})

test('each law has such an import', () => {
  const broken = new Set(lawless.flatMap(([, file]) => findImportFaults([file])))
  expect(laws.filter(({ why }) => ![...broken].some((fault) => fault.endsWith(why)))).toEqual([])
})

test.each([
  [
    'a helper without servers in a test',
    source('shared/ids.test.ts', "import { a } from '#test/support/fakeClock.ts'"),
  ],
  [
    'random inputs in a test of the console',
    source('console/state/sort.test.ts', "import { fc } from '#test/support/fastCheck.ts'"),
  ],
  ['reasons in the console', source('console/parts/App.tsx', "import { a } from '#shared/why/why.ts'")],
  [
    'the comparison of permissions in the console',
    source('console/state/rights.ts', "import { a } from '#shared/domain/permissions.ts'"),
  ],
  ['the clock in the kube kit', source('shared/kube/client.ts', "import { a } from '#shared/clock.ts'")],
  ['bs58 in the client', source('client/realtime/client.ts', "import bs58 from 'bs58'")],
  ['the database beside an entity', source('api/domain/worlds/worlds.ts', "import { sql } from 'drizzle-orm'")],
  ['the database in a test', source('api/domain/worlds/present.test.ts', "import { sql } from 'drizzle-orm'")],
])('the laws allow %s', (_, file) => {
  expect(findImportFaults([file])).toEqual([])
})

test('draws the imports between folders, without those that follow from others', () => {
  const files = [
    source('api/domain/bots/bots.ts', "import { a } from '#api/domain/worlds/worlds.ts'"),
    source('api/domain/bots/limits.ts', "import { a } from '#api/domain/builds/builds.ts'"),
    source('api/domain/logs/logs.ts', "import { a } from '#api/domain/worlds/worlds.ts'"),
    source('api/domain/worlds/worlds.ts', "import { a } from '../builds/builds.ts'"),
  ]
  expect(drawImports('api/domain', files)).toBe(' bots, logs ─► worlds\n worlds ─► builds')
})

test('forbids an import of any other folder in shared', () => {
  expect(findImportFaults([source('shared/ids.ts', "import { a } from '#api/main.ts'")])).toEqual([
    'shared/ids.ts imports api/main.ts. Files in shared may import no other folder.',
  ])
})

test('names each import between two folders that is part of a cycle, however long', () => {
  const circle = [
    source('api/domain/bots/bots.ts', "import { a } from '#api/domain/worlds/worlds.ts'"),
    source('api/domain/worlds/worlds.ts', "import { a } from '../builds/builds.ts'"),
    source('api/domain/builds/builds.ts', "import type { A } from '#api/domain/bots/table.ts'"),
    source('api/domain/bots/events/changes.ts', "import { a } from '#api/domain/worlds/worlds.ts'"),
    source('api/domain/usage/usage.ts', "import { a } from '#api/domain/worlds/worlds.ts'"),
  ]
  expect(findImportFaults(circle)).toEqual([
    'api/domain: worlds → builds is part of a cycle (1 imports, such as api/domain/worlds/worlds.ts imports api/domain/builds/builds.ts).',
    'api/domain: builds → bots is part of a cycle (1 imports, such as api/domain/builds/builds.ts imports api/domain/bots/table.ts).',
    'api/domain: bots → worlds is part of a cycle (2 imports, such as api/domain/bots/bots.ts imports api/domain/worlds/worlds.ts).',
  ])
})

test('allows folders that import each other in one direction', () => {
  const line = [
    source('api/domain/bots/bots.ts', "import { a } from '#api/domain/worlds/worlds.ts'"),
    source('api/domain/worlds/worlds.ts', "import { a } from '#api/domain/builds/builds.ts'"),
  ]
  expect(findImportFaults(line)).toEqual([])
})
