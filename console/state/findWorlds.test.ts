import { expect, test } from 'vitest'
import { fc } from '#test/support/fastCheck.ts'
import { findWorlds as findIn, toCandidates } from './findWorlds.ts'
import type { Row } from './row.ts'
import { aRow } from './testing/row.ts'

const findWorlds = (text: string, rows: readonly Row[], max: number) => findIn(text, toCandidates(rows), max)
const named = (...names: string[]) => names.map((name, index) => aRow({ id: `wld-${index}`, name, address: '' }))
const namesOf = (text: string, rows: ReturnType<typeof named>, max = 8) =>
  findWorlds(text, rows, max).map(({ row }) => row.name)

test('finds a world by a part of its name, id, label or address, and says in which label or address', () => {
  const row = aRow({ id: 'wld-7k', name: 'Lobby', labels: { team: 'Events' }, address: 'wss://a.example/7' })
  const hints = ['obb', 'D-7K', 'team=ev', 'A.EXAMPLE', 'lob events'].map((text) => findWorlds(text, [row], 8)[0]?.hint)
  expect(hints).toEqual(['', '', 'team=Events', 'wss://a.example/7', 'team=Events'])
  expect(findWorlds('nowhere', [row], 8)).toEqual([])
})

test('puts the best first: the whole name, its start, the start of a word, a part, the start of an id, a label, the address, a part of an id', () => {
  const rows = [
    aRow({ id: 'wld-arena', name: 'g' }),
    aRow({ id: 'f', name: 'f', address: 'arena:7777' }),
    aRow({ id: 'e', name: 'e', labels: { a: 'arena' } }),
    aRow({ id: 'arena-d', name: 'd' }),
    ...named('Marena', 'The Arena', 'Arena 12', 'Arena'),
  ]
  expect(namesOf('arena', rows)).toEqual(['Arena', 'Arena 12', 'The Arena', 'Marena', 'd', 'e', 'f', 'g'])
})

test('puts a part of an id behind all else, whatever the number of words', () => {
  const rows = [
    aRow({ id: 'wld-9xk2', name: 'Lobby', address: '' }),
    aRow({ id: 'wld-1', name: 'a', labels: { team: '9xk2', room: 'lobby' }, address: '' }),
  ]
  expect(namesOf('lobby 9xk2', rows)).toEqual(['a', 'Lobby'])
})

test('searches ids for words of at least 4 characters', () => {
  const rows = [aRow({ id: 'wld-9xk2', address: '' })]
  expect(['9xk', 'wld', '9xk2', 'wld-'].map((text) => findWorlds(text, rows, 8).length)).toEqual([0, 0, 1, 1])
})

test('finds the start of a word behind a part of another one', () => {
  expect(namesOf('art', named('heartily', 'heart art'))).toEqual(['heart art', 'heartily'])
})

test('needs all words, in any order and any case of letters', () => {
  const rows = named('Main hall', 'Main lobby', 'Lobby')
  expect(namesOf('LOBBY  main', rows)).toEqual(['Main lobby'])
})

test('finds nothing without a word, and reads at most 200 characters', () => {
  expect(namesOf(' \t', named('Lobby'))).toEqual([])
  expect(namesOf(`${'lobby '.repeat(40)} arena`, named('Lobby'))).toEqual(['Lobby'])
})

test('returns at most the wanted number, and leaves out none that is better', () => {
  const name = fc.string({ unit: fc.constantFrom('a', 'b', ' '), maxLength: 6 })
  fc.assert(
    fc.property(fc.array(name, { maxLength: 40 }), name, fc.integer({ min: 1, max: 8 }), (names, text, max) => {
      const rows = named(...names)
      const all = findWorlds(text, rows, rows.length + 1)
      expect(findWorlds(text, rows, max)).toEqual(all.slice(0, max))
      expect(all.map(({ row }) => row.id).toSorted()).toEqual(
        rows
          .filter(({ name, id }) =>
            text.split(' ').every((word) => word === '' || name.includes(word) || id.includes(word)),
          )
          .filter(() => text.trim() !== '')
          .map(({ id }) => id)
          .toSorted(),
      )
    }),
  )
})
