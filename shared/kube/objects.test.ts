import { expect, test } from 'vitest'
import { controllerOf, objectKey, ownerReference, parseKey } from './objects.ts'
import { thing } from './testing/things.ts'

test('a key names an object within its namespace, and can be read back', () => {
  expect(objectKey(thing('a', '1'))).toBe('home/a')
  expect(objectKey({ name: 'node-1' })).toBe('node-1')
  expect(parseKey('home/a')).toEqual({ namespace: 'home', name: 'a' })
  expect(parseKey('node-1')).toEqual({ name: 'node-1' })
})

test('an owner becomes the one controller of its dependent', () => {
  const owner = thing('a', '1')
  const child = thing('b', '2')
  child.metadata.ownerReferences = [{ apiVersion: 'v1', kind: 'Other', name: 'x', uid: 'u' }, ownerReference(owner)]
  expect(controllerOf(child)).toEqual({
    apiVersion: 'example.test/v1',
    kind: 'Thing',
    name: 'a',
    uid: 'uid-a',
    controller: true,
    blockOwnerDeletion: true,
  })
  expect(controllerOf(owner)).toBeUndefined()
})

test('an owner that the server has not named yet cannot own', () => {
  const owner = thing('a', '1')
  delete owner.metadata.uid
  expect(() => ownerReference(owner)).toThrow('Thing home/a has no uid')
})
