import { expect, test } from 'vitest'
import { nextQuery } from './pages.ts'

test.each<[string, string | null, Record<string, string[]> | undefined]>([
  ['no link', null, undefined],
  ['a link to something else', '</worlds/?cursor=a>; rel="prev"', undefined],
  ['the next of several links', '</?cursor=a>; rel="prev", </?cursor=b>; rel="next"', { cursor: ['b'] }],
  ['a relation without quotes, among parameters', '</?cursor=b>; title="x"; rel=next', { cursor: ['b'] }],
  ['one of several relations', '</?cursor=b>; rel="last next"', { cursor: ['b'] }],
  ['encoded and repeated values', '</?c=a%3D%26&s=1&s=2#x>; rel="next"', { c: ['a=&'], s: ['1', '2'] }],
  ['a link without a query', '</worlds/>; rel="next"', {}],
])('reads the next page from %s', (_, link, query) => {
  expect(nextQuery(link)).toEqual(query)
})
