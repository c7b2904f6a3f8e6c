import { z } from 'zod'
import { exampleId, exampleInstant } from './examples.ts'
import { boundedText } from './fields.ts'

const maxLimit = 1_000

/** A place in a list: what comes after it is the next page. */
export type Cursor = { readonly createdAt: Date; readonly id: string }
/** Which part of a list is wanted. */
export type Page = { readonly limit: number; readonly after?: Cursor }
/** One page of a list, and where the next one begins. */
export type Paged<T> = { readonly items: T[]; readonly next?: Cursor }

/** Eleven digits of milliseconds last until the year 2527, and are a moment to Postgres and JavaScript alike. */
const cursorPattern = /^([0-9a-f]{1,11})\.([a-z]{3,4}-[0-9a-z]{26})$/

/** The query of a list: how many, and from where. */
export const pageQuery = z.object({
  limit: boundedText(4)
    .regex(/^\d{1,4}$/, `must be a whole number, 1 to ${maxLimit}`)
    .transform(Number)
    .refine((limit) => limit >= 1 && limit <= maxLimit, `must be a whole number, 1 to ${maxLimit}`)
    .default(maxLimit)
    .meta({ type: 'integer', minimum: 1, maximum: maxLimit, description: 'How many at most.', examples: [100] }),
  cursor: boundedText(128)
    .transform((text, context): Cursor => {
      const cursor = decode(text)
      if (cursor !== undefined) return cursor
      context.addIssue({ code: 'custom', message: 'must be a cursor from a Link header of this list' })
      return z.NEVER
    })
    .optional()
    .meta({
      type: 'string',
      pattern: cursorPattern.source,
      description: 'Where to go on: from the Link header of the page before.',
      examples: [`${Date.parse(exampleInstant).toString(16)}.${exampleId('world')}`],
    }),
})

const decode = (text: string): Cursor | undefined => {
  const [, ms = '', id] = cursorPattern.exec(text) ?? []
  return id === undefined ? undefined : { createdAt: new Date(Number.parseInt(ms, 16)), id }
}

/** What a service needs of the query. */
export const pageOf = (query: z.output<typeof pageQuery>): Page =>
  query.cursor === undefined ? { limit: query.limit } : { limit: query.limit, after: query.cursor }

/** Cuts what was read, one row more than the limit, to a page. */
export const cut = <T extends Cursor>(rows: readonly T[], { limit }: Page): Paged<T> => {
  const items = rows.slice(0, limit)
  const last = items.at(-1)
  return rows.length > limit && last ? { items, next: { createdAt: last.createdAt, id: last.id } } : { items }
}

/** The Link header (RFC 8288) of the next page, if there is one; a filter by status goes on. */
export const linkTo = (
  path: string,
  { limit }: Page,
  next: Cursor | undefined,
  statuses: readonly string[] = [],
): Record<string, string> => {
  if (next === undefined) return {}
  const cursor = `${next.createdAt.getTime().toString(16)}.${next.id}`
  const filter = statuses.length > 0 ? `&status=${statuses.join(',')}` : ''
  return { link: `<${path}?limit=${limit}&cursor=${cursor}${filter}>; rel="next"` }
}
