import type { Hook } from '@hono/zod-openapi'
import type { core } from 'zod'
import { type InputFault, Problem, pointer } from './errors.ts'
import type { Env } from './openapi.ts'

/** Turns what zod found into one 400 that lists every fault. */
export const onInvalid: Hook<unknown, Env, string, unknown> = (result) => {
  if (result.success) return undefined
  const errors = faults(result.error.issues, result.target === 'json' ? '' : `${result.target}:`)
  const count = errors.length === 1 ? 'One thing is' : `${errors.length} things are`
  throw new Problem('invalid_request', `${count} not as the API reference says; see errors.`, { errors })
}

/** An unknown field is a fault of its own, at its own place. */
const faults = (issues: readonly core.$ZodIssue[], prefix: string): InputFault[] =>
  issues.flatMap((issue) => {
    const path = prefix + pointer(issue.path)
    if (issue.code !== 'unrecognized_keys') return [{ path, message: issue.message }]
    return issue.keys.map((key) => ({ path: `${path}${pointer([key])}`, message: 'this field is not known here' }))
  })
