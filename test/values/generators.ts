import { fc } from '#test/support/fastCheck.ts'

// Values of the chart from values.schema.json. Most are valid, so that the fault of one does not hide those of another.

type Json = unknown
type Schema = { readonly [key: string]: unknown }
type Schemas = { readonly [key: string]: Schema }

/** A value of the chart by its path, such as `['api', 'replicas']`. */
export type Leaf = { readonly path: readonly string[]; readonly value: Json }

/** Values that have no meaning in most places. */
const oddities = [null, {}, [], '', 'Not a name!', -1, 7, true, 1.5, 'a'.repeat(300), [{}], { a: null }]

/** Values by path, where the schema says too little: objects that must exist, and objects of any kind. */
type Special = { readonly [path: string]: fc.Arbitrary<Json> }

/** Returns lists of values for one release. `known` are texts that the chart itself uses, such as names of variables. */
export const leavesOf = (root: Schema, known: readonly string[], special: Special): fc.Arbitrary<Leaf[]> => {
  const definitions = root.definitions as Schemas
  const leaves: { readonly path: string[]; readonly arbitrary: fc.Arbitrary<Json> }[] = []
  const groups: string[][] = []
  const visit = (schema: Schema, path: string[]): void => {
    const isGroup = schema.properties !== undefined && schema.required !== undefined
    if (!isGroup) leaves.push({ path, arbitrary: special[path.join('.')] ?? anyOf(schema, definitions, known) })
    else {
      groups.push(path)
      for (const [key, each] of Object.entries(schema.properties as Schemas)) visit(each, [...path, key])
    }
  }
  for (const [key, each] of Object.entries(root.properties as Schemas)) visit(each, [key])
  const others = leaves.filter(({ path }) => !path.includes('settings'))
  const odd = fc.constantFrom(...oddities)
  const leafOf = (from: typeof leaves, weight: number): fc.Arbitrary<Leaf> =>
    fc
      .constantFrom(...from)
      .chain(({ path, arbitrary }) =>
        fc.oneof({ weight, arbitrary }, { weight: 1, arbitrary: odd }).map((value) => ({ path, value })),
      )
  const group = fc.record({ path: fc.constantFrom(...groups), value: fc.constantFrom(null, {}, [], 'x') })
  const one = fc.oneof(
    { weight: 24, arbitrary: leafOf(others, 20) },
    { weight: 2, arbitrary: leafOf(leaves, 5) },
    { weight: 1, arbitrary: group },
  )
  return fc.array(one, { minLength: 1, maxLength: 6 })
}

const anyOf = (schema: Schema | false, definitions: Schemas, known: readonly string[]): fc.Arbitrary<Json> => {
  if (schema === false) return fc.constant('x')
  const next = (each: Schema | false) => anyOf(each, definitions, known)
  if (schema.$ref !== undefined) return next(definitions[String(schema.$ref).split('/').at(-1) ?? ''] ?? false)
  const either = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined
  if (either !== undefined) return fc.oneof(...either.map(next))
  if (schema.enum !== undefined) return fc.constantFrom(...(schema.enum as Json[]))
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (Array.isArray(schema.type)) return fc.oneof(...schema.type.map((type) => next({ ...schema, type })))
  switch (schema.type) {
    case 'null':
      return fc.constant(null)
    case 'boolean':
      return fc.boolean()
    case 'integer':
      return fc.integer({ min: Number(schema.minimum ?? -9), max: Number(schema.maximum ?? 9_000) })
    case 'number':
      return fc.integer({ min: 0, max: 9_000 }).map((number) => number / 1_000)
    case 'array':
      return arrayOf(schema, next)
    case 'object':
      return objectOf(schema, next, known)
    default:
      return textOf(schema, known)
  }
}

const arrayOf = (schema: Schema, next: (each: Schema) => fc.Arbitrary<Json>): fc.Arbitrary<Json> => {
  const [minLength, maxLength] = [Number(schema.minItems ?? 0), Math.min(Number(schema.maxItems ?? 3), 3)]
  const usual = fc.array(next((schema.items ?? {}) as Schema), { minLength, maxLength })
  return fc.oneof(
    { weight: 12, arbitrary: usual },
    { weight: 1, arbitrary: usual.map((list) => [...list, ...list.slice(0, 1)]) },
  )
}

const objectOf = (
  schema: Schema,
  next: (each: Schema) => fc.Arbitrary<Json>,
  known: readonly string[],
): fc.Arbitrary<Json> => {
  const properties = Object.entries((schema.properties ?? {}) as Schemas)
  const fields = Object.fromEntries(properties.map(([key, each]) => [key, next(each)]))
  const record = fc.record(fields, { requiredKeys: (schema.required ?? []) as string[], noNullPrototype: true })
  const [[pattern, values] = []] = Object.entries((schema.patternProperties ?? {}) as Schemas)
  if (pattern === undefined || values === undefined) return record
  const keys = textOf({ pattern }, known)
  return fc.array(fc.tuple(keys, next(values)), { maxLength: 3 }).map((entries) => Object.fromEntries(entries))
}

const textOf = (schema: Schema, known: readonly string[]): fc.Arbitrary<string> => {
  const {
    pattern,
    maxLength = 300,
    minLength = 0,
  } = schema as { pattern?: string; maxLength?: number; minLength?: number }
  if (pattern === undefined) return fc.oneof(fc.string({ minLength, maxLength: 20 }), fc.constantFrom(...known))
  const expression = new RegExp(pattern)
  const fitting = known.filter((each) => expression.test(each) && each.length <= maxLength)
  const longest = ['a', '1', 'a.', 'A-'].map((part) => `${part.repeat(maxLength).slice(0, maxLength - 1)}b`)
  const usual = fc.oneof(
    fc.stringMatching(expression),
    fc.stringMatching(expression, { size: 'xsmall' }),
    ...longest.filter((each) => expression.test(each)).map((each) => fc.constant(each)),
  )
  return fitting.length === 0 ? usual : fc.oneof(usual, fc.constantFrom(...fitting))
}
