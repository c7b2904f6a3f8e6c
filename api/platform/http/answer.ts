/** Response headers, by lower-case name. */
export type AnswerHeaders = Readonly<Record<string, string>>

/** A request context that holds the headers for every response. */
export type Answerable = {
  get(key: 'headers'): Record<string, string>
  readonly req: { readonly method: string }
}

/** Larger bodies are sent in slices of this size. */
const sliceBytes = 64 * 1024

/**
 * Returns a response with the common headers of the request and its own. Headers are a plain object, which the server
 * writes as it is; a `Headers` object would check, copy and sort each entry. A large body is sent in slices, each when the client
 * has read the one before, so that the connection does not hold a copy of it. Do not change the bytes of `body` afterwards. The
 * response to a HEAD has only the length of the body.
 */
export const answer = (
  c: Answerable,
  body: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null,
  { status = 200, headers }: { status?: number | undefined; headers?: AnswerHeaders | undefined } = {},
): Response => {
  const all = { ...c.get('headers'), ...headers }
  if (c.req.method === 'HEAD' && (typeof body === 'string' || body instanceof Uint8Array)) {
    return new Response(null, { status, headers: { ...all, 'content-length': String(Buffer.byteLength(body)) } })
  }
  const bytes = typeof body === 'string' && body.length > sliceBytes ? Buffer.from(body) : body
  if (!(bytes instanceof Uint8Array) || bytes.byteLength <= sliceBytes) {
    return new Response(bytes, { status, headers: all })
  }
  return new Response(inSlices(bytes), { status, headers: { ...all, 'content-length': String(bytes.byteLength) } })
}

const inSlices = (bytes: Uint8Array): ReadableStream<Uint8Array> => {
  let at = 0
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    controller.enqueue(bytes.subarray(at, at + sliceBytes))
    at += sliceBytes
    if (at >= bytes.byteLength) controller.close()
  }
  return new ReadableStream({ pull }, { highWaterMark: 0 })
}
