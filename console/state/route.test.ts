import { expect, test } from 'vitest'
import { fc } from '#test/support/fastCheck.ts'
import { type Place, parsePlace, tabs, toPath } from './route.ts'

const parse = (path: string): Place => parsePlace(new URL(path, 'https://orrery.example'))

const fleet: Place = {
  organizationId: '',
  projectId: '',
  worldId: '',
  tab: 'now',
  filter: '',
  sort: '',
  columns: '',
  run: '',
}
const world: Place = { ...fleet, organizationId: 'org-1', projectId: 'proj_2', worldId: 'wld-3' }

test.each([
  ['/console/', fleet],
  ['/console', fleet],
  ['/console/?q=phase%3AError+%22a+b%22&sort=-age', { ...fleet, filter: 'phase:Error "a b"', sort: '-age' }],
  ['/console/organizations/org-1/', { ...fleet, organizationId: 'org-1' }],
  ['/console/projects/proj_2', { ...fleet, projectId: 'proj_2' }],
  ['/console/organizations/org-1/projects/proj_2/worlds/wld-3/', world],
  [
    '/console/organizations/org-1/projects/proj_2/worlds/wld-3/logs/?run=run-1',
    { ...world, tab: 'logs', run: 'run-1' },
  ],
] as const)('reads %s', (path, place) => {
  expect(parse(path)).toEqual(place)
})

test.each([
  '/',
  '/console/worlds/wld-3/',
  '/console/unknown/page/',
  '/console/organizations/a%2Fb/',
  `/console/organizations/${'a'.repeat(65)}/`,
])('leads from %s to the fleet', (path) => {
  expect(parse(path)).toEqual(fleet)
})

test('shows the state of a world with an unknown tab', () => {
  expect(parse('/console/projects/p/worlds/w/unknown/')).toEqual({ ...fleet, projectId: 'p', worldId: 'w' })
})

test('has one URL for each place', () => {
  const id = fc.stringMatching(/^[\w-]{1,64}$/)
  const anId = fc.oneof(fc.constant(''), id)
  const text = fc.string({ unit: 'grapheme' })
  const common = { organizationId: anId, filter: text, sort: text, columns: text }
  const place = fc.oneof(
    fc.record({ ...common, projectId: anId, worldId: fc.constant(''), tab: fc.constant('now'), run: fc.constant('') }),
    fc.record({ ...common, projectId: id, worldId: id, tab: fc.constantFrom(...tabs), run: text }),
  )
  fc.assert(
    fc.property(place, (each) => {
      expect(parse(toPath(each as Place))).toEqual(each)
    }),
  )
})

test('writes no more than a place has', () => {
  expect(toPath(fleet)).toBe('/console/')
  expect(toPath({ ...fleet, tab: 'logs', run: 'run-1' })).toBe('/console/')
  expect(toPath({ ...world, tab: 'logs', run: 'run-1', filter: 'a' })).toBe(
    '/console/organizations/org-1/projects/proj_2/worlds/wld-3/logs/?q=a&run=run-1',
  )
})
