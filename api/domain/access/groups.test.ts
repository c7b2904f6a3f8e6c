import { expect, test } from 'vitest'
import { groupsOf, maxGroups, permissionsOfExternal } from './groups.ts'

test('reads the groups of a list or a single text, and nothing else', () => {
  expect(groupsOf(['a', 'b'])).toEqual(['a', 'b'])
  expect(groupsOf('a')).toEqual(['a'])
  expect(groupsOf(['a', 1, null, '', ['b'], { c: 1 }, 'x'.repeat(257)])).toEqual(['a'])
  for (const claim of [undefined, null, 1, true, {}, '', { 0: 'a', length: 1 }]) expect(groupsOf(claim)).toEqual([])
})

test(`reads the first ${maxGroups} groups`, () => {
  const names = Array.from({ length: maxGroups + 1 }, (_, at) => `group-${at}`)
  expect(groupsOf(names)).toEqual(names.slice(0, maxGroups))
})

test('adds the permissions of the groups of the same issuer, within the organization', () => {
  const token = { issuer: 'https://id.example.com', groups: ['a', 'b'], permissions: ['organizations/one:r'] }
  const mappings = [
    { issuer: token.issuer, group: 'a', permissions: ['organizations/one/**:w', 'organizations/two/**:*', '*'] },
    { issuer: token.issuer, group: 'a', permissions: ['organizations/one:r'] },
    { issuer: token.issuer, group: 'c', permissions: ['organizations/one/**:*'] },
    { issuer: 'https://other.example.com', group: 'b', permissions: ['organizations/one/**:*'] },
  ]
  expect(permissionsOfExternal('one', token, mappings)).toEqual(['organizations/one:r', 'organizations/one/**:w'])
})
