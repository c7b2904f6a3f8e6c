import { expect, test } from 'vitest'
import { createStore } from './store.ts'
import { type Thing, thing } from './testing/things.ts'

const ownerIndex = {
  owner: ({ metadata }: Thing) => (metadata.labels?.owner === undefined ? [] : [metadata.labels.owner]),
}
const summarize = (changes: ReturnType<ReturnType<typeof createStore<Thing>>['put']>) =>
  changes.map(({ type, key, object, initial }) => [type, key, object.metadata.resourceVersion, initial])

test('returns the previous object with an update', () => {
  const store = createStore<Thing>()
  const [first, second] = [thing('a', '1'), thing('a', '2')]
  expect(store.put(first)).toEqual([{ type: 'added', key: 'home/a', object: first, initial: false }])
  expect(store.put(second)).toEqual([{ type: 'updated', key: 'home/a', object: second, old: first, initial: false }])
  expect(store.read.get('home/a')).toBe(second)
})

test('reports an object that returns with another uid as deleted and added', () => {
  const store = createStore<Thing>()
  store.put(thing('a', '1'))
  expect(summarize(store.put(thing('a', '5', { uid: 'other' })))).toEqual([
    ['deleted', 'home/a', '1', false],
    ['added', 'home/a', '5', false],
  ])
})

test('returns the last state with a deletion, and nothing for an absent object', () => {
  const store = createStore<Thing>()
  store.put(thing('a', '1'))
  expect(summarize(store.remove(thing('a', '3')))).toEqual([['deleted', 'home/a', '3', false]])
  expect(store.remove(thing('a', '3'))).toEqual([])
  expect(store.read.size).toBe(0)
})

test('reports only the differences when a list replaces the objects', () => {
  const store = createStore<Thing>()
  for (const each of [thing('same', '1'), thing('gone', '2'), thing('newer', '3'), thing('other', '4')]) store.put(each)
  const list = [thing('same', '1'), thing('newer', '7'), thing('other', '8', { uid: 'u' }), thing('new', '9')]
  expect(summarize(store.replace(list))).toEqual([
    ['deleted', 'home/gone', '2', true],
    ['updated', 'home/newer', '7', true],
    ['deleted', 'home/other', '4', true],
    ['added', 'home/other', '8', true],
    ['added', 'home/new', '9', true],
  ])
  expect(store.read.list().map(({ metadata }) => metadata.name)).toEqual(['same', 'newer', 'other', 'new'])
})

test('updates each index with its objects, and rejects an unknown index', () => {
  const store = createStore<Thing>(ownerIndex)
  const owned = (owner: string) => store.read.byIndex('owner', owner).map(({ metadata }) => metadata.name)
  store.put(thing('a', '1', { owner: 'x' }))
  store.put(thing('b', '2', { owner: 'x' }))
  store.put(thing('c', '3'))
  expect([owned('x'), owned('y')]).toEqual([['a', 'b'], []])
  store.put(thing('a', '4', { owner: 'y' }))
  store.remove(thing('b', '5', { owner: 'x' }))
  expect([owned('x'), owned('y')]).toEqual([[], ['a']])
  store.replace([thing('c', '6', { owner: 'x' })])
  expect([owned('x'), owned('y')]).toEqual([['c'], []])
  expect(() => store.read.byIndex('world', 'x')).toThrow('no index world; there are: owner')
})
