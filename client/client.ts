import { operations } from './operations.ts'
import type { ClientOptions } from './options.ts'
import { nextQuery } from './pages.ts'
import { createRequest } from './send.ts'
import type { AnyInput, Client, PageLimit, Scope } from './types.ts'

export { ApiError, type InputFault } from './error.ts'
export type * from './operations.ts'
export type { ClientOptions, TokenSource } from './options.ts'
export type { Clock } from './retry.ts'
export type * from './types.ts'

const defaultMaxPages = 1_000

/**
 * Creates a client of the REST API. Its methods reject with an ApiError for every response other than 2xx, with a
 * DOMException named TimeoutError after `timeoutMs`, with the reason of an aborted signal, and with the error of `fetch` if
 * the API cannot be reached. Redirects are not followed, so the credential is sent only to `baseUrl`.
 */
export const createClient = (options: ClientOptions): Client => {
  const { organizationId, projectId, ...elsewhere } = options
  const request = createRequest(options)

  async function* pages(id: string, { maxPages = defaultMaxPages, ...input }: AnyInput & PageLimit = {}) {
    let query = input.query ?? {}
    for (let read = 0; read < maxPages; read += 1) {
      const { headers, body } = await request(id, { ...input, query })
      yield body
      const next = nextQuery(headers.get('link'))
      if (!next) return
      query = next
    }
    throw new Error(`${id} has more than ${maxPages} pages; raise maxPages, or leave the loop earlier.`)
  }

  const methods = Object.fromEntries(
    Object.keys(operations).map((id) => [id, async (input?: AnyInput) => (await request(id, input)).body]),
  )
  return { ...methods, request, pages, in: (scope: Scope) => createClient({ ...elsewhere, ...scope }) } as Client
}
