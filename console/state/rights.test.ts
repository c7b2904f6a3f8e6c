import { expect, test } from 'vitest'
import { projectOf, type Rights, refusalOf } from './rights.ts'

const target = { organizationId: 'org-1', projectId: 'prj-1', worldId: 'wld-1' }
const organization = 'organizations/org-1'
const project = `${organization}/projects/prj-1`
const world = `${project}/worlds/wld-1`
const keyWith = (...permissions: string[]): Rights => ({ kind: 'key', permissions, claims: {} })

test.each<[string, Rights, Parameters<typeof refusalOf>[1], string | undefined]>([
  ['a key with the verb', keyWith(`${world}:w`), 'startWorld', undefined],
  ['a key with a stronger verb on a scope around it', keyWith(`${organization}/**:*`), 'startWorld', undefined],
  ['the platform key', keyWith('*'), 'purgeWorld', undefined],
  ['a key with a weaker verb', keyWith(`${organization}/**:r`), 'startWorld', `Needs w on the world: ${world}:w`],
  ['a key of the project alone', keyWith(`${project}:w`), 'deleteWorld', `Needs w on the world: ${world}:w`],
  ['a key of the world alone', keyWith(`${world}:w`), 'restoreWorld', `Needs w on the project: ${project}:w`],
  [
    'a key that does not reach below',
    keyWith(`${project}:w`),
    'purgeWorld',
    `Needs w on the project and all below it: ${project}/**:w`,
  ],
  [
    'a token',
    { kind: 'user', permissions: [`${organization}/**:*`], claims: {} },
    'createApiKey',
    'Needs an API key, not the token of a user',
  ],
  [
    'a key, where the API asks for a user',
    keyWith(`${organization}/**:*`),
    'getWorldAccess',
    'Needs the token of a user, not an API key',
  ],
  ['a key without the claim', keyWith(), 'createOrganization', 'Needs the claim createOrganization'],
  [
    'a key with the claim',
    { kind: 'key', permissions: [], claims: { createOrganization: true } },
    'createOrganization',
    undefined,
  ],
  ['a key of an organization', keyWith(`${organization}/**:*`), 'deleteOrganization', 'Needs the platform key'],
  ['a key without permissions, where the request decides', keyWith(), 'putKvStore', undefined],
])('%s lacks what it lacks', (_, rights, operationId, refusal) => {
  expect(refusalOf(rights, operationId, target)).toBe(refusal)
})

test.each<[permissions: string[], wanted: string, project: string]>([
  [['organizations/org-1/**:r'], 'prj-1', ''],
  [['organizations/org-1:r'], '', ''],
  [['*'], '', ''],
  [['organizations/org-1/projects/prj-1/**:r', 'organizations/org-1/projects/prj-2/**:w'], '', 'prj-1'],
  [['organizations/org-1/projects/prj-1/**:r', 'organizations/org-1/projects/prj-2/**:w'], 'prj-2', 'prj-2'],
  [['organizations/org-2/**:r'], '', ''],
])('a credential with %j that wants "%s" follows the project "%s"', (permissions, wanted, project) => {
  expect(projectOf(permissions, 'org-1', wanted)).toBe(project)
})
