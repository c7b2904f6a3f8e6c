import { expect, test } from 'vitest'
import { strongestVerb } from './permissions.ts'

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
