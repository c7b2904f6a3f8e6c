import { Problem } from '#api/platform/http/problem.ts'
import { jsonBytes } from '#shared/domain/common.ts'
import type { WorldSpec } from '#shared/resources/world.ts'
import type { LaunchContextRow, worlds } from './table.ts'

/** The most bytes of a world's row with its launch context. */
const maxRowBytes = 256 * 1024
/** The bytes that the observed state of a row can have. */
const statusBytes = 32 * 1024
/** The maximum bytes of a spec as JSON: half of the row's maximum, less its status and the fields that only REST has. */
const maxSpecBytes = 60 * 1024

type Settings = Omit<typeof worlds.$inferInsert, 'id'>
type Context = Pick<LaunchContextRow, 'name' | 'description' | 'pictureUrl' | 'details'>

/** Returns the bytes of a row with its launch context and the resource as last applied, which has a copy of some settings. */
export const rowBytes = (settings: Settings, context: Context): number => {
  const { name, description, pictureUrl, compute, networking, runtime, metadata, program } = settings
  const { manifest, admission, sessions } = settings
  const applied = { name, description, compute, networking, runtime, metadata, program }
  const others = { pictureUrl, manifest, admission, sessions, context }
  return 2 * jsonBytes(applied) + jsonBytes(others) + statusBytes
}

/** Throws a 400 for a row with that many bytes. A row that had more before may become smaller. */
export const checkRowBytes = (bytes: number, beforeBytes = 0): void => {
  if (bytes <= Math.max(maxRowBytes, beforeBytes)) return
  const detail = `The world with its launch context would have ${bytes} bytes. The limit is ${maxRowBytes}. Make its metadata smaller.`
  throw new Problem('invalid_request', detail, {
    errors: [{ path: '/metadata', message: `must leave at most ${maxRowBytes} bytes for the world` }],
  })
}

/** Returns why an edit of a spec is refused, as the end of a sentence, or undefined. A large spec may become smaller. */
export const explainSpecBytes = (edited: WorldSpec, before: WorldSpec): string | undefined =>
  jsonBytes(edited) <= Math.max(maxSpecBytes, jsonBytes(before))
    ? undefined
    : `the spec would have more than ${maxSpecBytes} bytes as JSON. Make its metadata or its args smaller`
