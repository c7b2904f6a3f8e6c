import * as z from 'zod'
import { exampleId, exampleInstant } from './examples.ts'
import { boundedText } from './fields.ts'

const maxLimit = 1_000

/** A position in a list. The next page starts after it. */
export type Cursor = { readonly createdAt: Date; readonly id: string }
/** The requested part of a list. */
export type Page = { readonly limit: number; readonly after?: Cursor }
/** A page of a list, with the cursor of the next page if there is one. */
export type Paged<T> = { readonly items: T[]; readonly next?: Cursor }

/** Eleven hexadecimal digits of milliseconds reach the year 2527, which Postgres and JavaScript can represent. */
const cursorPattern = /^([0-9a-f]{1,11})\.([a-z]{3,4}-[0-9a-z]{26})$/

type CursorOptions = {
  readonly maxLength: number
  readonly pattern: RegExp
  readonly description: string
  readonly example: string
}

/** Returns the schema of the query parameter `cursor`. `decode` returns undefined for text that is not a cursor of the list. */
export const cursorQuery = <Decoded>(
  decode: (text: string) => Decoded | undefined,
  { maxLength, pattern, description, example }: CursorOptions,
) =>
  boundedText(maxLength)
    .transform((text, context): Decoded => {
      const cursor = decode(text)
      if (cursor !== undefined) return cursor
      context.addIssue({ code: 'custom', message: 'must be a cursor from a Link header of this list' })
      return z.NEVER
    })
    .optional()
    .meta({ type: 'string', pattern: pattern.source, description, examples: [example] })

const decodeCursor = (text: string): Cursor | undefined => {
  const [, ms = '', id] = cursorPattern.exec(text) ?? []
  return id === undefined ? undefined : { createdAt: new Date(Number.parseInt(ms, 16)), id }
}

/** The query parameters of a list. */
export const pageQuery = z.object({
  limit: boundedText(4)
    .regex(/^\d{1,4}$/, `must be a whole number, 1 to ${maxLimit}`)
    .transform(Number)
    .refine((limit) => limit >= 1 && limit <= maxLimit, `must be a whole number, 1 to ${maxLimit}`)
    .default(maxLimit)
    .meta({
      type: 'integer',
      minimum: 1,
      maximum: maxLimit,
      description: 'The highest number of items in the response.',
      examples: [100],
    }),
  cursor: cursorQuery(decodeCursor, {
    maxLength: 128,
    pattern: cursorPattern,
    description: 'The cursor from the Link header of the previous page.',
    example: `${Date.parse(exampleInstant).toString(16)}.${exampleId('run')}`,
  }),
})

/** Converts the query parameters to a page request. */
export const toPage = (query: z.output<typeof pageQuery>): Page =>
  query.cursor === undefined ? { limit: query.limit } : { limit: query.limit, after: query.cursor }

/** The rows of a page, in the order of the list. `hasMore` says that other rows follow. */
export type PageRows<T> = { readonly rows: T[]; readonly hasMore: boolean }

/** Returns a page with the cursor after its last row, if other rows follow. */
export const toPaged = <T extends Cursor>({ rows, hasMore }: PageRows<T>): Paged<T> => {
  const last = rows.at(-1)
  return hasMore && last ? { items: rows, next: { createdAt: last.createdAt, id: last.id } } : { items: rows }
}

/** Returns the Link header (RFC 8288) that leads from a request to the next page, or no header on the last page. */
export const nextPageLink = (
  path: string,
  query: Readonly<Record<string, string | readonly string[]>>,
  next: Cursor | string | undefined,
): Record<string, string> => {
  if (next === undefined) return {}
  const cursor = typeof next === 'string' ? next : `${next.createdAt.getTime().toString(16)}.${next.id}`
  const parameters = Object.entries({ limit: `${maxLimit}`, ...query, cursor }).flatMap(([name, values]) =>
    [values].flat().map((value) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`),
  )
  return { link: `<${path}?${parameters.join('&')}>; rel="next"` }
}
