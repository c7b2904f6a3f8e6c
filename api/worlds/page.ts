import { z } from '@hono/zod-openapi'
import type { Cursor, Page } from './service.ts'

const maxLimit = 1_000

/** The query of a list: how many, and from where. */
export const pageQuery = z.object({
  limit: z
    .string()
    .regex(/^\d{1,4}$/, `must be a whole number, 1 to ${maxLimit}`)
    .transform(Number)
    .refine((limit) => limit >= 1 && limit <= maxLimit, `must be a whole number, 1 to ${maxLimit}`)
    .default(maxLimit)
    .openapi({ type: 'integer', minimum: 1, maximum: maxLimit }),
  cursor: z
    .string()
    .max(128)
    .transform((text, context): Cursor => {
      const [ms, id] = Buffer.from(text, 'base64url').toString('utf8').split('.')
      if (ms && id && /^\d{1,15}$/.test(ms)) return { createdAt: new Date(Number(ms)), id }
      context.addIssue({ code: 'custom', message: 'must be a cursor from a Link header of this list' })
      return z.NEVER
    })
    .optional()
    .openapi({ type: 'string' }),
})

/** What a service needs of the query. */
export const pageOf = (query: z.output<typeof pageQuery>): Page =>
  query.cursor === undefined ? { limit: query.limit } : { limit: query.limit, after: query.cursor }

/** The Link header (RFC 8288) of the next page. */
export const nextLink = (path: string, limit: number, next: Cursor): string => {
  const cursor = Buffer.from(`${next.createdAt.getTime()}.${next.id}`).toString('base64url')
  return `<${path}?limit=${limit}&cursor=${cursor}>; rel="next"`
}
