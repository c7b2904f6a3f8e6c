/** The headers of an answer, by their names in lower case. */
export type AnswerHeaders = Readonly<Record<string, string>>

/** A request whose middleware has set the headers of every answer to it. */
export type Answerable = { get(key: 'headers'): Record<string, string> }

/**
 * An answer with the headers that every answer to this request bears, and some of its own. They are a plain object: the
 * server writes one as it is, whereas each header that is set on a `Headers` is checked, copied and sorted.
 */
export const answer = (
  c: Answerable,
  body: string | Uint8Array<ArrayBuffer> | null,
  { status = 200, headers }: { status?: number | undefined; headers?: AnswerHeaders | undefined } = {},
): Response => new Response(body, { status, headers: { ...c.get('headers'), ...headers } })
