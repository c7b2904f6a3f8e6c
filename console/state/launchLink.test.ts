import { expect, test } from 'vitest'
import { launchOf } from './launchLink.ts'
import { aRow } from './testing/row.ts'

const worlds = Array.from({ length: 200 }, (_, index) =>
  aRow({ id: `world-${100_000 + index}`, labels: { team: index < 100 ? 'a' : 'b' } }),
)
const ids = worlds.map(({ id }) => id)

test('the launch of few worlds counts exactly these', () => {
  const launch = launchOf({ filter: 'label:team', ids: ids.slice(7, 9), rows: worlds, projectId: '' })
  expect(launch).toEqual({ filter: 'id:world-100007,world-100008', isMore: false })
  expect(launchOf({ filter: '', ids: ids.slice(0, 1), rows: worlds, projectId: '' })).toMatchObject({ isMore: false })
})

test('the launch of many worlds has the filter, and says if it counts more than these', () => {
  const of = (filter: string, first: number, rows = worlds) =>
    launchOf({ filter, ids: ids.slice(0, first), rows, projectId: 'project-1' })
  expect(of('label:team=a lobby', 100)).toEqual({ filter: 'label:team=a', isMore: false })
  expect(of('label:team=a', 99)).toEqual({ filter: 'label:team=a', isMore: true })
  expect(of('phase:Inactive', 150)).toEqual({ filter: '', isMore: true })
  // Worlds of another project are not on the page of this one.
  expect(of('', 200, [...worlds, aRow({ id: 'other', projectId: 'project-2' })])).toEqual({ filter: '', isMore: false })
})

test('the filter of the launch of many worlds has nothing that a start changes', () => {
  const kept = 'label:team="a b" -name:hall'
  const of = (filter: string) => launchOf({ filter, ids, rows: worlds, projectId: '' }).filter
  expect(of(`phase:Inactive ${kept} -reason:OutOfMemory build:live address:10. lobby -"old one"`)).toBe(kept)
  expect(of('phase:Error')).toBe('')
})

test('the filter of few worlds has at most 1,000 characters', () => {
  const long = Array.from({ length: 30 }, (_, index) => `${'w'.repeat(38)}${10 + index}`)
  for (const count of [24, 25]) {
    const { filter } = launchOf({ filter: '', ids: long.slice(0, count), rows: [], projectId: '' })
    expect(filter.length).toBe(count === 24 ? 986 : 0)
  }
})
