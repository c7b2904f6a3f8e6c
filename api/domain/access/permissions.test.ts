import { expect, test } from 'vitest'
import { strongestVerb } from './permissions.ts'

const organization = 'organizations/org-1'
const project = `${organization}/projects/prj-1`

test.each([
  ['the platform permission is everything', ['*'], project, '*'],
  ['a node is itself and not what is beneath it', [`${organization}:w`], project, undefined],
  ['a node is itself', [`${organization}:w`], organization, 'w'],
  ['a subtree is its node', [`${organization}/**:r`], organization, 'r'],
  ['a subtree is all beneath it', [`${organization}/**:r`], project, 'r'],
  ['a longer id is another node', [`${organization}/**:r`], `${organization}2/projects/prj-1`, undefined],
  ['the strongest of several counts', [`${project}:r`, `${organization}/**:*`, `${project}:w`], project, '*'],
  ['an unknown verb is none', [`${project}:x`], project, undefined],
  ['a permission without a verb is none', [project], project, undefined],
])('%s', (_, permissions, path, verb) => {
  expect(strongestVerb(permissions, path)).toBe(verb)
})
