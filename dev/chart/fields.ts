/** A value that JSON can express. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }

/** A value of the chart: its default, its meaning, and the JSON Schema that it must fit. */
export type Field = {
  readonly description: string
  readonly default: Json
  readonly schema: { readonly [key: string]: Json }
}

/** Values under one key. */
export type Group = { readonly description: string; readonly fields: Fields }

/** The values of the chart, or of a part of it, by key. */
export type Fields = { readonly [key: string]: Field | Group }

type More = { readonly [key: string]: Json }

/** Values under one key, with a description of what they have in common. */
export const group = (description: string, fields: Fields): Group => ({ description, fields })

/** A string. */
export const text = (value: string, description: string, more: More = {}): Field => ({
  description,
  default: value,
  schema: { type: 'string', ...more },
})

/** A value of any schema. */
export const field = (value: Json, description: string, schema: Field['schema']): Field => ({
  description,
  default: value,
  schema,
})

/** An integer within bounds. */
export const integer = (value: number, description: string, minimum: number, maximum: number): Field => ({
  description,
  default: value,
  schema: { type: 'integer', minimum, maximum },
})

/** A boolean. */
export const flag = (value: boolean, description: string): Field => ({
  description,
  default: value,
  schema: { type: 'boolean' },
})

/** A field that is one of several strings. */
export const choice = (value: string, description: string, choices: readonly string[]): Field => ({
  description,
  default: value,
  schema: { type: 'string', enum: choices },
})

/** A list of strings. */
export const texts = (value: readonly string[], description: string, items: More = {}, more: More = {}): Field =>
  field(value, description, { type: 'array', items: { type: 'string', ...items }, ...more })

/** Reports whether the entry has values below it. */
export const isGroup = (entry: Field | Group): entry is Group => 'fields' in entry
