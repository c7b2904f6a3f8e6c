import { stringify } from 'yaml'
import { type Field, type Fields, type Group, isGroup, type Json } from './fields.ts'
import { definitions } from './kubernetes.ts'

const width = 118

/** Returns values.yaml: every value with its default, and its description as a comment. */
export const renderValues = (fields: Fields): string =>
  `# Generated from dev/chart/values.ts by \`npm run chart\`; change the values there.\n${renderFields(fields, 0)}`

const renderFields = (fields: Fields, depth: number): string =>
  Object.entries(fields)
    .map(([key, entry]) => comment(entry.description, depth) + renderEntry(key, entry, depth))
    .join(depth === 0 ? '\n' : '')

const renderEntry = (key: string, entry: Field | Group, depth: number): string => {
  const indent = '  '.repeat(depth)
  if (!isGroup(entry)) {
    // A value without a default is shown, and not set.
    if (entry.default === null) return `${indent}# ${key}:\n`
    return stringify({ [key]: entry.default }, { lineWidth: 0 }).replaceAll(/^(?=.)/gm, indent)
  }
  const isEmpty = Object.values(entry.fields).every((each) => !isGroup(each) && each.default === null)
  return `${indent}${key}:${isEmpty ? ' {}' : ''}\n${renderFields(entry.fields, depth + 1)}`
}

const comment = (text: string, depth: number): string => {
  const indent = `${'  '.repeat(depth)}# `
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last === undefined || indent.length + last.length + word.length >= width) lines.push(word)
    else lines[lines.length - 1] = `${last} ${word}`
  }
  return lines.map((line) => `${indent}${line}\n`).join('')
}

const draft = 'http://json-schema.org/draft-07/schema#'

/** Returns values.schema.json, which refuses unknown keys, wrong types, and null where a value has a default. */
export const renderSchema = (fields: Fields): string =>
  `${JSON.stringify({ $schema: draft, definitions, ...schemaOf(fields, true) }, null, 1)}\n`

const schemaOf = (fields: Fields, isTop: boolean): { [key: string]: Json } => ({
  type: 'object',
  additionalProperties: false,
  // Helm removes a value that is null. Templates need all.
  required: Object.entries(fields).flatMap(([key, entry]) => (isGroup(entry) || entry.default !== null ? [key] : [])),
  properties: {
    ...Object.fromEntries(
      Object.entries(fields).map(([key, entry]) => [
        key,
        {
          description: entry.description,
          ...(isGroup(entry) ? schemaOf(entry.fields, false) : entry.schema),
        },
      ]),
    ),
    // Helm passes these to a chart that another one includes.
    ...(isTop ? { global: { type: 'object' } } : {}),
  },
})
