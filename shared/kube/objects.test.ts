import { expect, test } from 'vitest'
import { controllerOf, objectKey, ownerReference, parseKey } from './objects.ts'
import { thing } from './testing/things.ts'

test('formats and parses the key of an object with and without a namespace', () => {
  expect(objectKey(thing('a', '1'))).toBe('home/a')
  expect(objectKey({ name: 'node-1' })).toBe('node-1')
  expect(parseKey('home/a')).toEqual({ namespace: 'home', name: 'a' })
  expect(parseKey('node-1')).toEqual({ name: 'node-1' })
})

test('makes the owner the controller of its dependent', () => {
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

test('rejects an owner without a uid', () => {
  const owner = thing('a', '1')
  delete owner.metadata.uid
  expect(() => ownerReference(owner)).toThrow('Thing home/a has no uid')
})
