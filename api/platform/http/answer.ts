/** Response headers, by lower-case name. */
export type AnswerHeaders = Readonly<Record<string, string>>

/** A request context that holds the headers for every response. */
export type Answerable = { get(key: 'headers'): Record<string, string> }

/**
 * Returns a response with the common headers of the request and its own. Headers are a plain object, which the server
 * writes as it is; a `Headers` object would check, copy and sort each entry.
 */
export const answer = (
  c: Answerable,
  body: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null,
  { status = 200, headers }: { status?: number | undefined; headers?: AnswerHeaders | undefined } = {},
): Response => new Response(body, { status, headers: { ...c.get('headers'), ...headers } })
