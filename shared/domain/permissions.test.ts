import { expect, test } from 'vitest'
import { isTimed } from '#test/support/timing.ts'
import { mayGrant, strongestVerb } from './permissions.ts'

const organization = 'organizations/org-1'
const project = `${organization}/projects/prj-1`

test.each([
  ['* grants every verb on every scope', ['*'], project, '*'],
  ['a permission without /** does not reach the scopes below', [`${organization}:w`], project, undefined],
  ['a permission without /** grants its own scope', [`${organization}:w`], organization, 'w'],
  ['/** grants the scope itself', [`${organization}/**:r`], organization, 'r'],
  ['/** grants the scopes below', [`${organization}/**:r`], project, 'r'],
  [
    'an id with the same prefix is another scope',
    [`${organization}/**:r`],
    `${organization}2/projects/prj-1`,
    undefined,
  ],
  ['the strongest of several verbs wins', [`${project}:r`, `${organization}/**:*`, `${project}:w`], project, '*'],
  ['an unknown verb grants nothing', [`${project}:x`], project, undefined],
  ['a permission without a verb grants nothing', [project], project, undefined],
])('%s', (_, permissions, path, verb) => {
  expect(strongestVerb(permissions, path)).toBe(verb)
})

if (isTimed) {
  test('the time of a check does not depend on the number of permissions that are held', () => {
    const permissionsOf = (count: number) =>
      Array.from({ length: count }, (_, at) => `${organization}/projects/prj-${at}/**:w`)
    const asked = permissionsOf(256)
    const timeMs = (held: readonly string[]): number => {
      const startedMs = performance.now()
      for (let round = 0; round < 400; round += 1) for (const each of asked) mayGrant(held, each)
      return performance.now() - startedMs
    }
    timeMs(permissionsOf(256))
    expect(timeMs(permissionsOf(256))).toBeLessThan(8 * timeMs(permissionsOf(1)))
  })
}
