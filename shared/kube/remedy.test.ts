import { expect, test } from 'vitest'
import { KubeError } from './errors.ts'
import { remedyOf } from './remedy.ts'

const worlds = { plural: 'worlds', group: 'orrery.dev' }

test.each([
  [401, 'Check its ServiceAccount'],
  [403, 'may not list worlds.orrery.dev. Install the roles'],
  [404, 'no worlds.orrery.dev. Install the CustomResourceDefinitions'],
])('a list that fails with %i has a remedy', (status, remedy) => {
  expect(remedyOf(new KubeError({ message: 'refused', status }), worlds)).toContain(remedy)
})

test('a failure that can end by itself has none', () => {
  expect(remedyOf(new KubeError({ message: 'busy', status: 503 }), worlds)).toBeUndefined()
  expect(remedyOf(new Error('socket hang up'), worlds)).toBeUndefined()
})
