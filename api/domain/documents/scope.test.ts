import { expect, test } from 'vitest'
import { resolveDocument } from './scope.ts'

const ids = { organizationId: 'org-a', projectId: 'prj-a', worldId: 'wld-a' }
const organization = { ...ids, projectId: '', worldId: '' }
const project = { ...ids, worldId: '' }
const otherWorld = `wld-${'0'.repeat(26)}`

test.each([
  ['an id without a level is in the world of the headers', ids, 'x', { kind: 'world', ...ids, id: 'x' }],
  ['an id without a level is in the project of the headers', project, 'x', { kind: 'project', ...project, id: 'x' }],
  [
    'an id without a level is in the organization of the headers',
    organization,
    'x',
    { kind: 'organization', ...organization, id: 'x' },
  ],
  [
    'the level Organization wins over the headers',
    ids,
    'Organization:x',
    { kind: 'organization', ...organization, id: 'x' },
  ],
  ['the level Project wins over the headers', ids, 'Project:x', { kind: 'project', ...project, id: 'x' }],
  ['only the first part is a level', ids, 'Project:World:x', { kind: 'project', ...project, id: 'World:x' }],
  ['an unknown level is part of the id', project, 'Team:x', { kind: 'project', ...project, id: 'Team:x' }],
  [
    'the id of a world names the world if the headers do not',
    project,
    `World:${otherWorld}`,
    { kind: 'world', ...ids, worldId: otherWorld, id: otherWorld },
  ],
  [
    'the world of the headers wins over the id of a world',
    ids,
    `World:${otherWorld}`,
    { kind: 'world', ...ids, id: otherWorld },
  ],
] as const)('%s', (_, scope, id, document) => {
  expect(resolveDocument(scope, id)).toEqual(document)
})

test.each([
  ['a project', organization, 'Project:x', ['x-svc-project-id']],
  ['a project and a world', organization, 'World:x', ['x-svc-project-id', 'x-svc-world-id']],
  ['an id', ids, 'World:', ['path:/id']],
])('returns a 400 that names %s if it is missing', (_, scope, id, paths) => {
  expect(() => resolveDocument(scope, id)).toThrow(
    expect.objectContaining({
      code: 'invalid_request',
      errors: paths.map((path) => expect.objectContaining({ path })),
    }),
  )
})
