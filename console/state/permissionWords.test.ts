import { expect, test } from 'vitest'
import { describeClaims, describePermission } from './permissionWords.ts'

const names: Readonly<Record<string, string>> = { 'prj-1': 'Showroom' }
const known = { organizationId: 'org-1', projectName: (id: string) => names[id] ?? '' }
const organization = 'organizations/org-1'

test.each([
  ['*', 'Has full access to the platform'],
  [`${organization}/**:r`, 'Reads the organization and all its projects and worlds'],
  [`${organization}/**:w`, 'Reads and changes the organization and all its projects and worlds'],
  [`${organization}/**:*`, 'Has full access to the organization and all its projects and worlds, and manages its keys'],
  [`${organization}:r`, 'Reads the organization itself, not its projects and worlds'],
  [
    `${organization}:*`,
    'Has full access to the organization itself, not its projects and worlds, and manages its keys',
  ],
  [`${organization}/projects/prj-1/**:r`, 'Reads project “Showroom” and all its worlds'],
  [`${organization}/projects/prj-1:w`, 'Reads and changes project “Showroom” itself, not its worlds'],
  [`${organization}/projects/prj-2/**:*`, 'Has full access to project prj-2 and all its worlds'],
  [`${organization}/projects/prj-1/worlds/wld-1:w`, 'Reads and changes world wld-1 in project “Showroom”'],
  [`${organization}/projects/prj-1/worlds/wld-1/**:r`, 'Reads world wld-1 in project “Showroom”'],
  ['organizations/org-2/**:w', 'Reads and changes another organization, org-2 and all its projects and worlds'],
  ['organizations/org-2/projects/prj-1/**:r', 'Reads project prj-1 of another organization, org-2 and all its worlds'],
  ['organizations/org-1/**:x', 'Has no known effect: organizations/org-1/**:x'],
  ['nonsense', 'Has no known effect: nonsense'],
])('%s: %s', (permission, words) => {
  expect(describePermission(permission, known)).toBe(words)
})

test('claims are in words, and only those that are granted', () => {
  const claims = { createOrganization: true, largeWorlds: false, bot: true, constructor: true }
  expect(describeClaims(claims)).toEqual([
    'Creates organizations',
    'Is limited to reading its world, whatever the permissions say',
    'Has the claim constructor, which has no effect here',
  ])
})
