import { stringify } from 'yaml'
import { type Field, type Fields, type Group, isGroup, type Json } from './fields.ts'
import { type Process, settingsOf } from './settings.ts'

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

/** Returns values.schema.json, which refuses unknown keys and wrong types. */
export const renderSchema = (fields: Fields): string =>
  `${JSON.stringify({ $schema: 'http://json-schema.org/draft-07/schema#', ...schemaOf(fields, true) }, null, 2)}\n`

const schemaOf = (fields: Fields, isTop: boolean): { [key: string]: Json } => ({
  type: 'object',
  additionalProperties: false,
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

/** Returns the reference of all values and environment variables as a page of documentation. */
export const renderReference = (fields: Fields): string =>
  [
    '# Which values does the chart have, and which settings do the processes have?',
    '',
    '<!-- Generated from dev/chart/values.ts and the configurations of api and operator by `npm run chart`. -->',
    '',
    'Set values with `helm upgrade --install … -f my-values.yaml`. The chart refuses unknown names and wrong types.',
    'A setting of a process is a value under `api.settings` or `operator.settings`, for example:',
    '',
    '```yaml',
    'api:',
    '  settings:',
    '    limitMaxWorlds: 50',
    '    allowedOrigins: [https://play.example.com]',
    '```',
    '',
    '## Values',
    '',
    '| value | default | meaning |',
    '| --- | --- | --- |',
    ...rowsOf(fields, '').map(({ path, value, description }) => `| \`${path}\` | ${value} | ${cell(description)} |`),
    '',
    ...(['api', 'operator'] as const).flatMap((process) => [...variablesOf(process), '']),
    '[running.md](running.md#settings) says what each variable means. Any variable `NAME` may be given as `NAME_FILE`.',
    '',
  ].join('\n')

const rowsOf = (fields: Fields, prefix: string): { path: string; value: string; description: string }[] =>
  Object.entries(fields).flatMap(([key, entry]) => {
    const path = prefix + key
    if (key === 'settings') return [{ path: `${path}.*`, value: 'see below', description: entry.description }]
    // A group has a row, because the descriptions in it refer to that of the group.
    return isGroup(entry)
      ? [{ path: `${path}.*`, value: '', description: entry.description }, ...rowsOf(entry.fields, `${path}.`)]
      : [{ path, value: `\`${JSON.stringify(entry.default)}\``, description: entry.description }]
  })

const variablesOf = (process: Process): string[] => [
  `## Environment variables of the ${process === 'api' ? 'API' : 'operator'}`,
  '',
  '| variable | default | set by |',
  '| --- | --- | --- |',
  ...settingsOf(process).map(
    ({ variable, default: otherwise, value }) =>
      `| \`${variable}\` | ${otherwise} | ${/^\w+(\.\w+)*$/.test(value) ? `\`${value}\`` : value} |`,
  ),
]

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;')
