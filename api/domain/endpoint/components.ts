import { isDeepStrictEqual } from 'node:util'
import { exampleInstant } from '#api/platform/http/examples.ts'
import { withDefined } from '#shared/optional.ts'
import type { Json } from './jsonSchema.ts'

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

const propertiesOf = ({ properties }: Json): [string, Json][] =>
  isObject(properties)
    ? Object.entries(properties).flatMap(([name, each]): [string, Json][] => (isObject(each) ? [[name, each]] : []))
    : []

/** The schemas within a schema that do not stand for a property. */
const branchesOf = (schema: Json): Json[] =>
  [schema.items, schema.additionalProperties, schema.anyOf, schema.oneOf, schema.allOf].flat().filter(isObject)

type Hoisted = { readonly name: string; readonly schema: Json }

/**
 * Returns components in which every object that is the type of a property or of the items of a list, or a variant with a title, is a
 * component of its own. Equal objects become one component. Its name is its title, or that of the component and the property where it
 * is first found.
 */
export const nameNestedObjects = (components: Readonly<Record<string, Json>>): Record<string, Json> => {
  const hoisted: Hoisted[] = []
  const nameOf = (wanted: string, schema: Json): string => {
    const known = hoisted.find((each) => isDeepStrictEqual(each.schema, schema))
    if (known !== undefined) return known.name
    const isTaken = (name: string): boolean => name in components || hoisted.some((each) => each.name === name)
    let name = wanted
    for (let at = 2; isTaken(name); at += 1) name = `${wanted}${at}`
    hoisted.push({ name, schema })
    return name
  }
  const hoist = (parent: string, schema: Json): Json => ({
    ...schema,
    ...(isObject(schema.properties) && {
      properties: Object.fromEntries(
        Object.entries(schema.properties).map(([name, each]) => [
          name,
          isObject(each) ? hoistProperty(`${parent}${capitalize(name)}`, each) : each,
        ]),
      ),
    }),
    ...(isObject(schema.items) && {
      items: hoistProperty(
        typeof schema.items.title === 'string' ? schema.items.title : parent.replace(/s$/, ''),
        schema.items,
      ),
    }),
    ...(Array.isArray(schema.anyOf) && {
      anyOf: schema.anyOf.map((each) => (isObject(each) ? hoistVariant(parent, each) : each)),
    }),
  })
  const hoistVariant = (parent: string, variant: Json): Json =>
    typeof variant.title === 'string' ? hoistProperty(variant.title, variant, parent) : hoist(parent, variant)
  const hoistProperty = (wanted: string, property: Json, parent = wanted): Json => {
    const { description, default: fallback, examples, ...schema } = hoist(parent, property)
    // Generators of clients read null as a value, but not as the type of a property.
    if (schema.type === 'null') return { const: null, ...withDefined({ description }) }
    if (schema.type !== 'object' || propertiesOf(schema).length === 0) {
      return { ...schema, ...withDefined({ description, default: fallback, examples }) }
    }
    // Generators for Go cannot make the default of a reference.
    return { $ref: `#/components/schemas/${nameOf(wanted, schema)}`, ...withDefined({ description }) }
  }
  // Short names first, so that a type of World and PublicWorld is named after World.
  const inOrder = Object.entries(components).toSorted(([a], [b]) => a.length - b.length)
  const named = inOrder.map(([name, schema]): [string, Json] => [name, hoist(name, schema)])
  const all = [...named, ...hoisted.map(({ name, schema }): [string, Json] => [name, schema])]
  return Object.fromEntries(all.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

const capitalize = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`

/** Returns the component that a schema or the items of a list refer to, and a function that picks its part of a value. */
const targetOf = (schema: Json): { name: string; pick: (value: unknown) => unknown } | undefined => {
  const ofItems = isObject(schema.items) ? targetOf(schema.items) : undefined
  if (ofItems !== undefined)
    return { ...ofItems, pick: (value) => (Array.isArray(value) ? ofItems.pick(value[0]) : undefined) }
  if (typeof schema.$ref !== 'string') return undefined
  return { name: schema.$ref.slice(schema.$ref.lastIndexOf('/') + 1), pick: (value) => value }
}

/**
 * Gives every component without examples one from the examples of the components that refer to it, or else one that is made
 * from its schema.
 */
export const addExamples = (components: Record<string, Json>): void => {
  const visit = (schema: Json, examples: readonly unknown[]): void => {
    for (const variant of [schema.anyOf].flat().filter(isObject)) {
      const component = components[targetOf(variant)?.name ?? '']
      const example = component && examples.find((each) => isObject(each) && hasFieldsOf(component, each))
      if (component === undefined || example === undefined || component.examples !== undefined) continue
      component.examples = [example]
      visit(component, [example])
    }
    for (const [name, property] of [schema, ...branchesOf(schema)].flatMap(propertiesOf)) {
      const target = targetOf(property)
      const component = target && components[target.name]
      if (target === undefined || component === undefined || component.examples !== undefined) continue
      const values = examples.map((each) => (isObject(each) ? target.pick(each[name]) : undefined))
      const example = values.find((value) => value !== undefined)
      if (example === undefined) continue
      component.examples = [example]
      visit(component, [example])
    }
  }
  for (const schema of Object.values(components)) {
    if (Array.isArray(schema.examples)) visit(schema, schema.examples)
  }
  for (const schema of Object.values(components)) schema.examples ??= [sampleOf(schema, components)]
}

/** Reports whether a value has the required properties of an object schema, and no others than its properties. */
const hasFieldsOf = ({ properties, required }: Json, value: Json): boolean =>
  [required ?? []].flat().every((name) => String(name) in value) &&
  Object.keys(value).every((name) => name in Object(properties))

const emptySamples: Readonly<Record<string, unknown>> = { string: '', boolean: false, number: 1, integer: 1, array: [] }

/** Returns a value of a schema: its example, default or first constant, or an empty value of its type. */
const sampleOf = (schema: Json, components: Readonly<Record<string, Json>>): unknown => {
  const [shown] = [...examplesOf(schema, components), schema.default, ...[schema.enum].flat()].filter(
    (each) => each !== undefined,
  )
  if (shown !== undefined) return shown
  if (schema.format === 'date-time') return exampleInstant
  const target = schema.type === 'array' ? undefined : targetOf(schema)
  if (target !== undefined) return sampleOf(components[target.name] ?? {}, components)
  if (schema.type !== 'object') return emptySamples[String(schema.type)] ?? null
  return Object.fromEntries(propertiesOf(schema).map(([name, each]) => [name, sampleOf(each, components)]))
}

/** Returns the examples of a schema, or of the component or the items that it leads to. */
export const examplesOf = (schema: Json, components: Readonly<Record<string, Json>>): readonly unknown[] => {
  if (Array.isArray(schema.examples)) return schema.examples
  if (isObject(schema.items)) {
    const [item] = examplesOf(schema.items, components)
    return item === undefined ? [] : [[item]]
  }
  const target = targetOf(schema)
  const component = target && components[target.name]
  return component === undefined ? [] : examplesOf(component, components)
}
