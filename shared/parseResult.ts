import * as z from 'zod'

/** A parsed value, or all its errors, each a sentence with its path. */
export type ParseResult<T> =
  | { readonly value: T; readonly errors?: undefined }
  | { readonly value?: undefined; readonly errors: readonly string[] }

/** Returns a zod transform that reports all errors of a parser as one issue. */
export const withErrors =
  <T>(parseText: (text: string) => ParseResult<T>) =>
  (text: string, context: z.RefinementCtx<string>): T => {
    const { value, errors } = parseText(text)
    if (errors === undefined) return value
    context.addIssue({ code: 'custom', message: errors.join('; ') })
    return z.NEVER
  }
