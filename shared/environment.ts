import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import * as z from 'zod'
import { namePatterns } from './kube/names.ts'
import { withDefined } from './optional.ts'

/** The environment is invalid. The message lists every fault on its own line and never shows a value. */
export class EnvironmentError extends Error {
  override name = 'EnvironmentError'
}

/** Checks several variables together. Returns the name and the fault of each invalid one. */
export type Rule = (given: Readonly<Record<string, string | undefined>>) => readonly (readonly [string, string])[]

/**
 * Parses the environment once into a typed object. An empty variable counts as absent. The value of any variable `NAME`
 * can come from a file that `NAME_FILE` names, so that secrets can be mounted. Line breaks at its end are dropped. Throws
 * one `EnvironmentError` with all faults. It does not show values, since any of them may be a secret.
 */
export const parseEnvironment = <Shape extends z.ZodRawShape>(
  shape: Shape,
  env: NodeJS.ProcessEnv,
  rules: readonly Rule[] = [],
): z.output<z.ZodObject<Shape>> => {
  const read = Object.keys(shape).map((name) => [name, readVariable(name, shape, env)] as const)
  const given = Object.fromEntries(read.map(([name, { value }]) => [name, value]))
  const unreadable = new Map(read.flatMap(([name, { fault }]) => (fault === undefined ? [] : [[name, fault] as const])))
  const result = z.object(shape).safeParse(given)
  const issues = (result.error?.issues ?? []).map((issue): readonly [string, string] => {
    const name = issue.path.join('.')
    return [name, (given[name] === undefined ? 'is missing' : issue.message) + hint(shape[name])]
  })
  const faults = [
    ...unreadable,
    ...issues.filter(([name]) => !unreadable.has(name)),
    ...rules.flatMap((rule) => rule(given)),
  ]
  if (result.success && faults.length === 0) return result.data
  const lines = faults.map(([name, fault]) => `  ${name}: ${fault}`)
  throw new EnvironmentError(`The environment is invalid:\n${lines.join('\n')}`)
}

type Setting = readonly [variable: string, schema: z.ZodType]

/** The settings of a process by name, in groups of any depth: the variable of each, and its schema. */
export type SettingTable = { readonly [name: string]: Setting | SettingTable }

/** The values of a table of settings. */
export type Settings<Table> = {
  readonly [Name in keyof Table]: Table[Name] extends readonly [string, infer Schema extends z.ZodType]
    ? z.output<Schema>
    : Settings<Table[Name]>
}

const isSetting = (entry: Setting | SettingTable): entry is Setting => Array.isArray(entry)

/** Returns the schemas of a table by variable. */
export const variablesOf = (table: SettingTable): Record<string, z.ZodType> =>
  Object.assign(
    {},
    ...Object.values(table).map((each) => (isSetting(each) ? { [each[0]]: each[1] } : variablesOf(each))),
  )

/** Reads the settings of a table from the environment, as `parseEnvironment` does. */
export const readSettings = <Table extends SettingTable>(
  table: Table,
  env: NodeJS.ProcessEnv,
  rules?: readonly Rule[],
): Settings<Table> => {
  const values = parseEnvironment(variablesOf(table), env, rules)
  const fill = (group: SettingTable): object =>
    Object.fromEntries(
      Object.entries(group).map(([name, each]) => [name, isSetting(each) ? values[each[0]] : fill(each)]),
    )
  return fill(table) as Settings<Table>
}

/** Reads a variable, or the file that its `_FILE` names. */
const readVariable = (name: string, shape: object, env: NodeJS.ProcessEnv): { value?: string; fault?: string } => {
  const value = env[name] || undefined
  const fileName = `${name}_FILE`
  const file = name.endsWith('_FILE') || fileName in shape ? undefined : env[fileName] || undefined
  if (file === undefined) return withDefined({ value })
  if (value !== undefined) return { value, fault: `is set twice: unset it or ${fileName}` }
  try {
    return { value: readFileSync(file, 'utf8').replace(/[\r\n]+$/, '') }
  } catch {
    return { fault: `cannot be read from the file that ${fileName} names` }
  }
}

const hint = (schema: unknown): string => {
  const description = schema instanceof z.ZodType ? schema.description : undefined
  return description === undefined ? '' : ` (${description})`
}

/** A switch: `true` or `on`, `false` or `off`. */
export const flag = (preset: boolean) =>
  z
    .enum(['true', 'false', 'on', 'off'])
    .default(preset ? 'true' : 'false')
    .transform((text) => text === 'true' || text === 'on')

/** An IP address to listen on. */
export const listenAddress = (): z.ZodType<string, string> =>
  z.string().refine((value) => isIP(value) !== 0, 'must be an IP address, such as 127.0.0.1 or ::')

/** The secret with which the API signs tickets for logs and the operator verifies them. */
export const logKey = (): z.ZodType<string, string> =>
  z
    .string()
    .min(32, 'must have at least 32 characters')
    .describe('the secret of the tickets for logs; create one with: openssl rand -base64 32')

/** A TCP port. With 0, the system chooses a free port. */
export const port = (): z.ZodType<number, string> =>
  z
    .string()
    .regex(/^\d{1,5}$/, 'must be a port, 0 to 65535')
    .transform(Number)
    .refine((value) => value <= 65_535, 'must be a port, 0 to 65535')

/** A decimal number from `minimum` to `maximum`. */
export const decimal = (minimum: number, maximum: number): z.ZodType<number, string> =>
  z
    .string()
    .regex(/^\d{1,15}(\.\d{1,6})?$/, `must be a number, ${minimum} to ${maximum}`)
    .transform(Number)
    .refine((value) => value >= minimum && value <= maximum, `must be a number, ${minimum} to ${maximum}`)

/** An absolute URL of one of the given schemes. */
export const url = (...schemes: string[]): z.ZodType<string, string> =>
  z.string().refine(
    (value) => {
      const parsed = URL.parse(value)
      return parsed !== null && schemes.includes(parsed.protocol.slice(0, -1))
    },
    `must be a URL of the scheme ${schemes.join(' or ')}`,
  )

/** The name of a ConfigMap. */
export type ConfigMapName = { readonly namespace: string; readonly name: string }

/** A ConfigMap as `namespace/name`. */
export const configMap = (): z.ZodType<ConfigMapName, string> =>
  z
    .string()
    .regex(
      new RegExp(`${namePatterns.dnsLabel.slice(0, -1)}/${namePatterns.object.slice(1)}`),
      'must be a ConfigMap as namespace/name',
    )
    .transform((text) => {
      const [namespace = '', name = ''] = text.split('/')
      return { namespace, name }
    })

/** Parses a comma-separated list. */
export const list = <S extends z.ZodType<string, string>>(each: S) =>
  z
    .string()
    .transform((text) => text.split(',').map((part) => part.trim()))
    .pipe(z.array(each))
