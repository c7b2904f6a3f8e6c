import { expect, test } from 'vitest'
import { definitionProblem } from './definitionVersions.ts'

const of = (version: string | undefined) => definitionProblem('worlds.orrery.dev', version, '0.4.2')

test.each(['0.4.0', '0.4.9', '0.5.0'])('definitions of %s fit version 0.4.2', (version) => {
  expect(of(version)).toBeUndefined()
})

test.each(['0.3.9', '0.2.0', undefined])('definitions of %s are too old for version 0.4.2', (version) => {
  expect(of(version)?.message).toContain('Apply the folder crds of version 0.4.2.')
})

test.each(['0.6.0', '1.0.0'])('definitions of %s are too new for version 0.4.2', (version) => {
  expect(of(version)?.message).toContain('Upgrade this process')
})

test.each([
  ['0.2.9', true],
  ['0.6.0', true],
  ['1.0.0', true],
  ['0.3.9', false],
  [undefined, false],
])('definitions of %s are unsupported by version 0.4.2: %s', (version, isUnsupported) => {
  expect(of(version)?.isUnsupported).toBe(isUnsupported)
})
