import { expect, test } from 'vitest'
import { fc } from '#test/support/fastCheck.ts'
import { type Place, pages, parsePlace, platformPages, tabs, toPath } from './route.ts'

const parse = (path: string): Place => parsePlace(new URL(path, 'https://orrery.example'))

const fleet: Place = {
  organizationId: '',
  projectId: '',
  worldId: '',
  page: 'fleet',
  tab: 'now',
  filter: '',
  sort: '',
  columns: '',
  run: '',
  since: '',
  until: '',
  door: '',
  actor: '',
  action: '',
  resource: '',
  limit: '',
  webhook: '',
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
  ['/console/organizations/org-1/projects/', { ...fleet, organizationId: 'org-1', page: 'projects' }],
  [
    '/console/projects/proj_2/launch/?q=a&since=b&sort=name',
    { ...fleet, projectId: 'proj_2', page: 'launch', filter: 'a', since: 'b' },
  ],
  ['/console/clusters/', { ...fleet, page: 'clusters' }],
  ['/console/findings/?q=a&sort=name', { ...fleet, page: 'findings', filter: 'a' }],
  ['/console/organizations/org-1/findings/?q=a', { ...fleet, organizationId: 'org-1', filter: 'a' }],
  ['/console/projects/proj_2/doctor/', { ...fleet, projectId: 'proj_2' }],
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
  const common = {
    ...Object.fromEntries(Object.keys(fleet).map((name) => [name, fc.constant('')])),
    organizationId: anId,
  }
  const of = { filter: text, sort: text, columns: text }
  const onPage = (page: Place['page'], more: object) =>
    fc.record({ ...common, projectId: anId, page: fc.constant(page), tab: fc.constant('now'), ...more })
  const place = fc.oneof(
    onPage('fleet', of),
    onPage('launch', { filter: text, since: text }),
    onPage('webhooks', { webhook: text }),
    onPage('usage', { limit: text }),
    onPage('audit', { since: text, until: text, door: text, actor: text, action: text, resource: text }),
    fc.record({
      ...common,
      ...of,
      page: fc.constant('fleet'),
      projectId: id,
      worldId: id,
      tab: fc.constantFrom(...tabs),
      run: text,
    }),
  )
  fc.assert(
    fc.property(place, (each) => {
      expect(parse(toPath(each as unknown as Place))).toEqual(each)
    }),
  )
})

test('never leads out of the console, whatever the ids are', () => {
  const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('..', '.', '%2e%2e', 'a/../../..', '?', '#'))
  fc.assert(
    fc.property(text, text, text, (organizationId, projectId, worldId) => {
      const { pathname, search, hash } = new URL(
        toPath({ ...fleet, organizationId, projectId, worldId }),
        'https://orrery.example',
      )
      expect(pathname).toMatch(/^\/console\/((organizations|projects|worlds)\/[\w-]+\/)*$/)
      expect(search + hash).toBe('')
    }),
  )
})

test('leads an id that no URL has to what is above it', () => {
  expect(toPath({ ...world, projectId: 'prj-/../../../../../openapi' })).toBe('/console/organizations/org-1/')
  expect(toPath({ ...world, worldId: '..', tab: 'logs' })).toBe('/console/organizations/org-1/projects/proj_2/')
})

test('reads every page that it writes', () => {
  for (const page of [...pages, ...platformPages]) expect(parse(toPath({ ...fleet, page }))).toEqual({ ...fleet, page })
})

test('leads from a page of the platform to the fleet of an organization', () => {
  expect(toPath({ ...fleet, page: 'clusters', organizationId: 'org-1' })).toBe('/console/organizations/org-1/')
})

test('writes no more than a place has', () => {
  expect(toPath(fleet)).toBe('/console/')
  expect(toPath({ ...fleet, tab: 'logs', run: 'run-1' })).toBe('/console/')
  expect(toPath({ ...fleet, page: 'usage', filter: 'a', sort: '-age' })).toBe('/console/usage/')
  expect(toPath({ ...world, tab: 'logs', run: 'run-1', filter: 'a' })).toBe(
    '/console/organizations/org-1/projects/proj_2/worlds/wld-3/logs/?q=a&run=run-1',
  )
})
