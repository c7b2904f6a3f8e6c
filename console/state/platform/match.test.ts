import { expect, test } from 'vitest'
import { matchText } from './match.ts'

test('finds a part of any text, in any case of letters', () => {
  const items = [
    ['Acme', 'org-1'],
    ['Beta', 'org-2'],
  ]
  const match = (text: string) => matchText(items, text, (each) => each)
  expect(match(' ')).toBe(items)
  expect(match(' aCM ')).toEqual([items[0]])
  expect(match('org-')).toEqual(items)
  expect(match('acme org')).toEqual([])
})
