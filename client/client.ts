import { operations } from './operations.ts'
import type { ClientOptions } from './options.ts'
import { nextQuery } from './pages.ts'
import { createRequest } from './send.ts'
import type { AnyInput, Client, PageLimit, Scope } from './types.ts'

export { ApiError, type InputFault } from './error.ts'
export type * from './operations.ts'
export type { ClientOptions } from './options.ts'
export type { Clock } from './retry.ts'
export type * from './types.ts'

const defaultMaxPages = 1_000

/**
 * A client of the API. Its methods reject with an ApiError for every answer that is not a success, with a DOMException
 * named TimeoutError after `timeoutMs`, with the reason of an aborted signal, and with what `fetch` throws where the
 * API cannot be reached. The credential goes to `baseUrl` alone: redirects are not followed.
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
