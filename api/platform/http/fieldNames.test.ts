import { expect, test } from 'vitest'
import * as z from 'zod'
import { fieldNamesOf } from './fieldNames.ts'

const schema = z
  .strictObject({
    name: z.string().optional(),
    labels: z.record(z.string(), z.string()).optional(),
    runtime: z
      .object({ build: z.object({ tag: z.string() }).optional(), args: z.array(z.string()) })
      .prefault({ args: [] }),
  })
  .refine(() => true)

test('lists the fields that a body gives, down to the leaves that the schema declares', () => {
  const body = { name: 'secret', runtime: { build: { tag: 'secret' }, args: ['secret'] } }
  expect(fieldNamesOf(schema, body)).toEqual(['/name', '/runtime/build/tag', '/runtime/args'])
})

test('lists neither keys of maps nor values', () => {
  expect(fieldNamesOf(schema, { labels: { secret: 'secret' } })).toEqual(['/labels'])
})

test('lists nothing without a schema or an object', () => {
  expect([fieldNamesOf(undefined, { a: 1 }), fieldNamesOf(schema, 'secret')]).toEqual([[], []])
})

test('lists at most 64 fields', () => {
  const names = Array.from({ length: 100 }, (_, at) => `f${at}`)
  const wide = z.object(Object.fromEntries(names.map((name) => [name, z.number()])))
  expect(fieldNamesOf(wide, Object.fromEntries(names.map((name) => [name, 1])))).toHaveLength(64)
})
