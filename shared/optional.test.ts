import { expect, expectTypeOf, test } from 'vitest'
import { withDefined } from './optional.ts'

test('leaves out undefined members and keeps null, false, zero and empty ones', () => {
  const members = { name: 'a', none: undefined, nothing: null, no: false, zero: 0, text: '', list: [] }
  expect(Object.entries(withDefined(members))).toEqual([
    ['name', 'a'],
    ['nothing', null],
    ['no', false],
    ['zero', 0],
    ['text', ''],
    ['list', []],
  ])
})

test('returns a new object and leaves its argument as it was', () => {
  const members = { name: 'a', port: undefined }
  const result = withDefined(members)
  expect(result).not.toBe(members)
  expect(Object.keys(members)).toEqual(['name', 'port'])
})

test('satisfies exactOptionalPropertyTypes', () => {
  type Address = { host: string; port?: number; path?: string | null }
  const address = (port: number | undefined, path?: string | null): Address => withDefined({ host: 'h', port, path })
  expectTypeOf(withDefined({ host: 'h', port: 1 as number | undefined })).branded.toEqualTypeOf<{
    host: string
    port?: number
  }>()
  expect([address(undefined), address(1, null)]).toEqual([{ host: 'h' }, { host: 'h', port: 1, path: null }])
})
