import { expect, test } from 'vitest'
import { placeOf } from './scope.ts'

const ids = { organizationId: 'org-a', projectId: 'prj-a', worldId: 'wld-a' }
const organization = { ...ids, projectId: '', worldId: '' }
const project = { ...ids, worldId: '' }
const otherWorld = `wld-${'0'.repeat(26)}`

test.each([
  ['an id without a scope is in the world of the headers', ids, 'x', { kind: 'world', ...ids, id: 'x' }],
  ['or in the project', project, 'x', { kind: 'project', ...project, id: 'x' }],
  ['or in the organization', organization, 'x', { kind: 'organization', ...organization, id: 'x' }],
  ['a named scope wins over the headers', ids, 'Organization:x', { kind: 'organization', ...organization, id: 'x' }],
  ['also between', ids, 'Project:x', { kind: 'project', ...project, id: 'x' }],
  ['only the first part names it', ids, 'Project:World:x', { kind: 'project', ...project, id: 'World:x' }],
  ['another first part is part of the id', project, 'Team:x', { kind: 'project', ...project, id: 'Team:x' }],
  [
    'an id that is a world names it',
    project,
    `World:${otherWorld}`,
    { kind: 'world', ...ids, worldId: otherWorld, id: otherWorld },
  ],
  ['the header wins over it', ids, `World:${otherWorld}`, { kind: 'world', ...ids, id: otherWorld }],
] as const)('%s', (_, scope, id, place) => {
  expect(placeOf(scope, id)).toEqual(place)
})

test.each([
  ['a project', organization, 'Project:x', ['x-svc-project-id']],
  ['a project and a world', organization, 'World:x', ['x-svc-project-id', 'x-svc-world-id']],
  ['an id', ids, 'World:', ['path:/id']],
])('what lacks %s is refused with its name', (_, scope, id, paths) => {
  expect(() => placeOf(scope, id)).toThrow(
    expect.objectContaining({
      code: 'invalid_request',
      errors: paths.map((path) => expect.objectContaining({ path })),
    }),
  )
})
