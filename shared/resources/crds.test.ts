import { expect, test } from 'vitest'
import { customResourceDefinitions } from './crds.ts'

type Schema = { description?: string; properties?: Record<string, Schema>; items?: Schema }

/** Returns the paths of all fields of a schema with their descriptions. */
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

test('kubectl get worlds -o wide fits into 160 columns', () => {
  type Columns = { versions: { additionalPrinterColumns: { name: string }[] }[] }
  const definition = customResourceDefinitions()['orrery.dev_worlds.yaml']
  const { versions = [] } = (definition?.spec ?? {}) as Partial<Columns>
  const names = versions[0]?.additionalPrinterColumns.map(({ name }) => name) ?? []
  expect(names).toEqual([
    'Display',
    'Phase',
    'Ready',
    'Address',
    'Players',
    'Profile',
    'Age',
    'Port',
    'Node',
    'Deployment',
    'Empty',
  ])
  const widest = ['Main lobby', 'Starting', 'Unknown', '255.255.255.255', '10000', 'Capacity10000', '365d', '65535']
  const values = ['wld-01m7y9g19ge5abtf9x6h9mk7da', ...widest, 'orrery-node-1', 'Restarting', '7h59m']
  // kubectl pads each column except the last with three spaces.
  const widths = ['Name', ...names].map((name, index) => Math.max(name.length, values[index]?.length ?? 0))
  expect(widths.reduce((sum, width) => sum + width + 3, -3)).toBeLessThanOrEqual(160)
})
