import { expect, test } from 'vitest'
import { findManifestDifferences } from './readManifests.ts'

// biome-ignore lint/suspicious/noTemplateCurlyInString: a placeholder of the manifests
const groups = 'group in ${restoreGroups})'
const desired = {
  failurePolicy: 'Fail',
  conditions: [{ name: 'tool', expression: groups }],
  rules: [{ operations: ['CREATE'] }],
}
const live = { ...desired, conditions: [{ name: 'tool', expression: "group in ['system:masters', 'backup'])" }] }

test('the defaults of the API server and the groups of the installation are no differences', () => {
  const rules = [{ operations: ['CREATE'], scope: '*' }]
  expect(
    findManifestDifferences(desired, { ...live, rules, matchPolicy: 'Equivalent', namespaceSelector: {} }),
  ).toEqual([])
})

test.each([
  ['a changed value', { ...live, failurePolicy: 'Ignore' }, ['/failurePolicy']],
  ['an added field', { ...live, matchResources: { namespaceSelector: { a: 'b' } } }, ['/matchResources']],
  ['a selector', { ...live, namespaceSelector: { matchLabels: { a: 'b' } } }, ['/namespaceSelector']],
  ['a removed field', { conditions: live.conditions, failurePolicy: 'Fail' }, ['/rules']],
  ['an added item', { ...live, rules: [...live.rules, {}] }, ['/rules']],
  [
    'an expression in place of the groups',
    { ...live, conditions: [{ name: 'tool', expression: 'group in true)' }] },
    ['/conditions/0/expression'],
  ],
] as const)('%s is a difference', (_, changed, expected) => {
  expect(findManifestDifferences(desired, changed)).toEqual(expected)
})

test('a whole other spec leads to five fields at most', () => {
  const fields = Object.fromEntries(Array.from({ length: 9 }, (_, at) => [`f${at}`, at]))
  expect(findManifestDifferences({}, fields)).toHaveLength(5)
})
