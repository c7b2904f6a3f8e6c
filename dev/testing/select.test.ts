import { expect, test } from 'vitest'
import { selectIntegrationFiles } from './select.ts'

const select = (...changed: string[]): string[] => selectIntegrationFiles(changed, (file) => !file.includes('removed'))

test.each([
  ['an operator file', ['operator/world/plan.ts'], ['observability', 'worlds']],
  ['an api file outside the listed folders', ['api/main.ts'], ['openApi', 'rest']],
  ['a changed integration test', ['test/integration/bots.test.ts'], ['bots']],
  [
    'two folders with a test in common, once',
    ['operator/a.ts', 'shared/b.ts'],
    ['observability', 'resources', 'worlds'],
  ],
  ['a page', ['docs/running.md'], []],
  ['a removed integration test', ['test/integration/removed.test.ts'], []],
])('selects the integration tests for %s', (_, changed, names) => {
  expect(select(...changed)).toEqual(names.map((name) => `test/integration/${name}.test.ts`))
})

test('selects a changed test of faults', () => {
  expect(select('test/faults/clusters.test.ts')).toEqual(['test/faults/clusters.test.ts'])
})

test('names only files that exist', () => {
  const all = ['api/realtime/a', 'api/sync/a', 'api/domain/a', 'api/a', 'operator/a', 'shared/a', 'crds/a', 'client/a']
  expect(selectIntegrationFiles(all)).toEqual(selectIntegrationFiles(all, () => true))
})
