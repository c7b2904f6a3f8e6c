import { z } from 'zod'

/** The environment is invalid. The message lists every fault on its own line and never shows a value. */
export class EnvironmentError extends Error {
  override name = 'EnvironmentError'
}

/**
 * Parses the environment once into a typed object. An empty variable counts as absent. Throws one
 * `EnvironmentError` with all faults. It does not show values, since any of them may be a secret.
 */
export const parseEnvironment = <Shape extends z.ZodRawShape>(
  shape: Shape,
  env: NodeJS.ProcessEnv,
): z.output<z.ZodObject<Shape>> => {
  const given = Object.fromEntries(Object.keys(shape).map((name) => [name, env[name] === '' ? undefined : env[name]]))
  const result = z.object(shape).safeParse(given)
  if (result.success) return result.data
  const faults = result.error.issues.map((issue) => {
    const name = issue.path.join('.')
    const missing = given[name] === undefined
    return `  ${name}: ${missing ? 'is missing' : issue.message}${hint(shape[name])}`
  })
  throw new EnvironmentError(`The environment is invalid:\n${faults.join('\n')}`)
}

const hint = (schema: unknown): string => {
  const description = schema instanceof z.ZodType ? schema.description : undefined
  return description === undefined ? '' : ` (${description})`
}

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
