import { limitSettings } from '#api/domain/access/limits.ts'
import { variablesOf } from '#shared/environment.ts'
import { type Fields, isGroup } from './fields.ts'
import { type Setting, settingsOf } from './settings.ts'

/**
 * Returns docs/configuration.md with the present values, variables and defaults. The meanings of variables are those of the given
 * page. Throws if a variable has none.
 */
export const withReference = (page: string, fields: Fields): string =>
  [
    '# Which values does the chart have, and which settings do the processes have?',
    '',
    '<!-- `npm run chart` writes this page, except the meanings of environment variables. -->',
    '',
    'Set values with `helm upgrade --install … -f my-values.yaml`. The chart refuses values that the API server would refuse, and `null`.',
    '`name=value` shows the default. An environment variable has the value of the chart in parentheses, or else its name in `api.settings` or',
    '`operator.settings`:',
    '',
    '```yaml',
    'api:',
    '  settings:',
    '    allowedOrigins: [https://play.example.com] # ORRERY_ALLOWED_ORIGINS',
    '```',
    '',
    'Outside of the chart, set the environment variables. Any variable `NAME` may be given as `NAME_FILE`, the name of a file that holds the',
    'value: mount secrets as files. A process that cannot start lists every fault at once and exits with 1.',
    '',
    '## Values',
    '',
    ...rowsOf(fields, '', new Map()).map(
      ({ path, value, description }) => `- \`${path}${value && `=${value}`}\`: ${escaped(description)}`,
    ),
    '',
    ...sectionsOf(meaningsOf(page)),
  ].join('\n')

/** A value or a group; `value` is the default as JSON, and empty if there is none. */
type Row = { readonly path: string; readonly value: string; readonly description: string }

type Seen = Map<string, { readonly path: string; readonly fields: Fields }>

/** Returns a row for each value and each group. `seen` has the groups before it, by the keys and descriptions of their values. */
const rowsOf = (fields: Fields, prefix: string, seen: Seen): Row[] =>
  Object.entries(fields).flatMap(([key, entry]): Row[] => {
    const path = prefix + key
    const { description } = entry
    if (key === 'settings') return [{ path: `${path}.*`, value: '', description }]
    if (!isGroup(entry))
      return [{ path, value: entry.default === '' ? '' : JSON.stringify(entry.default), description }]
    const form = JSON.stringify(Object.entries(entry.fields).map(([name, each]) => [name, each.description]))
    const first = Object.values(entry.fields).some(isGroup) ? undefined : seen.get(form)
    if (first !== undefined) {
      const value = ownDefaults(entry.fields, first.fields)
      return [{ path: `${path}.*`, value, description: `${description} As \`${first.path}.*\`.` }]
    }
    seen.set(form, { path, fields: entry.fields })
    const { others, note } = withoutRepeated(path, entry.fields, seen)
    // A group has a row, because the descriptions in it refer to that of the group.
    return [{ path: `${path}.*`, value: '', description: description + note }, ...rowsOf(others, `${path}.`, seen)]
  })

/** Returns the values of a group without those that another group has too, if there are several, and a note that names these. */
const withoutRepeated = (path: string, fields: Fields, seen: Seen): { others: Fields; note: string } => {
  const known = Object.entries(fields).map(([key, entry]) => {
    const value = JSON.stringify([key, entry])
    const first = seen.get(value)
    if (first === undefined) seen.set(value, { path, fields })
    return { key, entry, path: isGroup(entry) ? undefined : first?.path }
  })
  const from = known.find((each) => each.path !== undefined)?.path
  const repeated = known.filter((each) => from !== undefined && each.path === from)
  if (repeated.length < 4) return { others: fields, note: '' }
  const others = known.filter((each) => each.path !== from).map(({ key, entry }) => [key, entry] as const)
  return {
    others: Object.fromEntries(others),
    note: ` As in \`${from}.*\`: ${repeated.map(({ key }) => `\`${key}\``).join(', ')}.`,
  }
}

/** Returns the defaults of a group that differ from those of the first group of its form, or an empty text. */
const ownDefaults = (fields: Fields, first: Fields): string => {
  const defaults = (from: Fields) =>
    Object.entries(from).map(([name, each]) => [name, isGroup(each) ? null : each.default])
  const usual = new Set(defaults(first).map((each) => JSON.stringify(each)))
  const own = defaults(fields).filter((each) => !usual.has(JSON.stringify(each)))
  return own.length === 0 ? '' : JSON.stringify(Object.fromEntries(own))
}

/** Returns the meanings of the variables that a page explains, by name. */
const meaningsOf = (page: string): ReadonlyMap<string, string> =>
  new Map(
    [...page.matchAll(/^- `([A-Z_]+)[^`]*`(?: \([^)]*\))?: (.+)$/gm)].map(([, variable = '', meaning = '']) => [
      variable,
      meaning,
    ]),
  )

const sectionsOf = (meanings: ReadonlyMap<string, string>): string[] => {
  const [api, operator] = [settingsOf('api'), settingsOf('operator')]
  const isIn = (settings: readonly Setting[]) => (setting: Setting) =>
    settings.some(({ variable }) => variable === setting.variable)
  const shared = api.filter(isIn(operator)).map((setting): Setting => {
    const other = operator.find(({ variable }) => variable === setting.variable)
    const isEqual = setting.default === other?.default
    return {
      ...setting,
      value: setting.value.replace(/^api\./, '<process>.'),
      default: isEqual ? setting.default : setting.default.replace('api', '<process>'),
    }
  })
  return [
    '## Environment variables of both processes',
    '',
    ...linesOf(shared, meanings),
    '## Environment variables of the API',
    '',
    '[limits.md](limits.md#limits-of-an-organization) has `ORRERY_LIMIT_MAX_…`, the default limits of an organization.',
    '',
    ...linesOf(
      api.filter((setting) => !(isIn(operator)(setting) || setting.variable in variablesOf(limitSettings))),
      meanings,
    ),
    '## Environment variables of the operator',
    '',
    ...linesOf(
      operator.filter((setting) => !isIn(api)(setting)),
      meanings,
    ),
  ]
}

const linesOf = (settings: readonly Setting[], meanings: ReadonlyMap<string, string>): string[] => [
  ...settings.map(({ variable, default: otherwise, value }) => {
    const meaning = meanings.get(variable)
    if (meaning === undefined) throw new Error(`docs/configuration.md does not explain ${variable}. Add a line for it.`)
    const hasDefault = otherwise !== 'none' && otherwise !== 'required'
    const notes = [
      ...(otherwise === 'required' ? ['required'] : []),
      ...(value.includes('.settings.') ? [] : [/^[\w<>]+(\.\w+)*$/.test(value) ? `\`${value}\`` : value]),
    ]
    return `- \`${variable}${hasDefault ? `=${otherwise}` : ''}\`${notes.length === 0 ? '' : ` (${notes.join('; ')})`}: ${meaning}`
  }),
  '',
]

const escaped = (text: string): string => text.replaceAll('<', '&lt;')
