import { expect, test } from 'vitest'
import { identify, organizationOf } from './identity.ts'

const row = { cluster: 'eu', organizationId: 'org-1', resourceName: 'lobby', resourceUid: 'uid-1' }
const own = { namespace: 'orrery-org-1', name: 'lobby', uid: 'uid-1' }
const prefix = { cluster: 'eu', namespacePrefix: 'orrery' }

test.each([
  ['the namespace of the organization and the uid on record', row, own, prefix, 'own'],
  ['no uid on record', { ...row, resourceUid: null }, own, prefix, 'own'],
  ['another uid', row, { ...own, uid: 'uid-2' }, prefix, 'successor'],
  [
    'another uid, and the one on record is gone',
    row,
    { ...own, uid: 'uid-2' },
    { ...prefix, replacedUid: 'uid-1' },
    'own',
  ],
  [
    'another uid, and one before it is gone',
    row,
    { ...own, uid: 'uid-3' },
    { ...prefix, replacedUid: 'uid-0' },
    'successor',
  ],
  ['another cluster', row, own, { ...prefix, cluster: 'us' }, 'stranger'],
  ["another organization's namespace", row, { ...own, namespace: 'orrery-org-2' }, prefix, 'stranger'],
  [
    'another namespace and no uid on record',
    { ...row, resourceUid: null },
    { ...own, namespace: 'x' },
    prefix,
    'stranger',
  ],
  ['another prefix', row, own, { ...prefix, namespacePrefix: 'other' }, 'stranger'],
  ['no namespace', row, { name: 'lobby', uid: 'uid-1' }, prefix, 'stranger'],
  ['another name', row, { ...own, name: 'hall' }, prefix, 'stranger'],
] as const)('%s is %5$s', (_, known, seen, options, identity) => {
  expect(identify(known, seen, options)).toBe(identity)
})

test('derives the organization only from a namespace with the prefix', () => {
  expect(organizationOf('orrery', 'orrery-org-1')).toBe('org-1')
  expect(organizationOf('orrery', 'other-org-1')).toBeUndefined()
  expect(organizationOf('orrery', undefined)).toBeUndefined()
})
