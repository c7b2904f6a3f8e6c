import { type InputFault, Problem, pointer } from './problem.ts'

/** The largest JSON body. */
export const maxJsonBytes = 1024 * 1024
/** The largest upload; a multipart body may add this much around its one file. */
export const maxUploadBytes = 10 * 1024 * 1024
export const multipartOverheadBytes = 64 * 1024
/** What is read and dropped of a body that is refused, so that its sender gets to read the answer. */
const maxDroppedBytes = 32 * 1024 * 1024

/** Reads a whole body, however it is framed; one over the limit is a 413. */
export const readBytes = async (request: Request, maxBytes: number): Promise<Buffer> => {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of request.body ?? []) {
    bytes += chunk.byteLength
    if (bytes <= maxBytes) chunks.push(chunk)
    if (bytes > maxBytes + maxDroppedBytes) break
  }
  if (bytes > maxBytes) throw new Problem('body_too_large', `A body has at most ${maxBytes} bytes here.`)
  return Buffer.concat(chunks)
}

/** Drops a body that nobody read: a connection that is closed under its sender takes the answer with it. */
export const dropBody = async (request: Request): Promise<void> => {
  if (request.body === null || request.bodyUsed) return
  let bytes = 0
  for await (const chunk of request.body) {
    bytes += chunk.byteLength
    if (bytes > maxDroppedBytes) break
  }
}

/** Reads a JSON body; 415, 413 and 400 say what is wrong with it. */
export const readJson = async (request: Request): Promise<unknown> => {
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/([a-z.-]+\+)?json\s*(;|$)/i.test(type)) {
    throw new Problem('unsupported_media_type', 'Send the body as application/json.')
  }
  const body = parse(await readBytes(request, maxJsonBytes))
  const errors = unsafeParts(body, '', 0)
  if (errors.length > 0) {
    throw new Problem('invalid_request', 'The body has parts that are refused everywhere.', { errors })
  }
  return body
}

const parse = (bytes: Buffer): unknown => {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (cause) {
    throw new Problem('malformed_json', 'The body cannot be parsed as JSON in UTF-8 (RFC 8259).', { cause })
  }
}

const maxDepth = 32
const refusedKeys = ['__proto__', 'constructor', 'prototype']

/**
 * What no body may hold: keys that reach a prototype in careless code, which validation would drop without a word, text
 * that Postgres cannot keep (U+0000, lone surrogates), and senseless nesting.
 */
const unsafeParts = (value: unknown, path: string, depth: number): InputFault[] => {
  if (typeof value === 'string') return isStorable(value) ? [] : [{ path, message: unstorable }]
  if (typeof value !== 'object' || value === null) return []
  if (depth > maxDepth) return [{ path, message: `is nested more than ${maxDepth} deep` }]
  return Object.entries(value).flatMap(([key, inner]) => {
    const at = path + pointer([key])
    if (refusedKeys.includes(key)) return [{ path: at, message: 'this key is refused' }]
    return [...(isStorable(key) ? [] : [{ path: at, message: unstorable }]), ...unsafeParts(inner, at, depth + 1)]
  })
}

const unstorable = 'must not contain U+0000 or half of a surrogate pair'
/** Whether Postgres can keep a text as it is. */
export const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed()
