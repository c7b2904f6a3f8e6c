import { expect, test } from 'vitest'
import { customResourceDefinitions } from './crds.ts'

type Schema = { description?: string; properties?: Record<string, Schema>; items?: Schema }

/** The paths of all fields of a schema, with their descriptions. */
const fieldsOf = ({ properties = {}, items }: Schema, path: string): [string, string | undefined][] => [
  ...Object.entries(properties).flatMap(([name, schema]): [string, string | undefined][] => [
    [`${path}.${name}`, schema.description],
    ...fieldsOf(schema, `${path}.${name}`),
  ]),
  ...(items === undefined ? [] : fieldsOf(items, `${path}[]`)),
]

test('describes every field of spec and status in a sentence', () => {
  const unexplained = Object.entries(customResourceDefinitions()).flatMap(([file, definition]) => {
    const { versions } = definition.spec as { versions: { schema: { openAPIV3Schema: Schema } }[] }
    const fields = versions.flatMap(({ schema }) => {
      const { spec = {}, status = {} } = schema.openAPIV3Schema.properties ?? {}
      return [...fieldsOf({ properties: { spec, status } }, '')]
    })
    expect(fields.length).toBeGreaterThan(20)
    return fields.filter(([, sentence]) => !/^[A-Z].*\.$/s.test(sentence ?? '')).map(([path]) => `${file}${path}`)
  })
  expect(unexplained).toEqual([])
})
