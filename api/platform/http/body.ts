import { createFaultList, type FaultList } from './faults.ts'
import { Problem } from './problem.ts'

/** The largest JSON body. */
export const maxJsonBytes = 1024 * 1024
/** How many values a JSON body may hold: arrays, objects, their elements and members, each counted once. */
export const maxJsonValues = 2_500
/** The largest upload; a multipart body may add this much around its one file. */
export const maxUploadBytes = 10 * 1024 * 1024
export const multipartOverheadBytes = 64 * 1024

/**
 * Reads a whole body, however it is framed. One over the limit is a 413 as soon as that is known; the rest of it is not
 * read.
 */
export const readBytes = async (request: Request, maxBytes: number): Promise<Buffer> => {
  const tooLarge = (): Problem => new Problem('body_too_large', `A body has at most ${maxBytes} bytes here.`)
  if (Number(request.headers.get('content-length') ?? 0) > maxBytes) throw tooLarge()
  const chunks: Uint8Array[] = []
  let bytes = 0
  // To leave a loop over the body itself would cancel it, and with it the connection that the answer needs.
  const reader = request.body?.getReader()
  for (let next = await reader?.read(); next !== undefined && !next.done; next = await reader?.read()) {
    bytes += next.value.byteLength
    if (bytes > maxBytes) throw tooLarge()
    chunks.push(next.value)
  }
  return Buffer.concat(chunks)
}

/** Reads a JSON body; 415, 413 and 400 say what is wrong with it. */
export const readJson = async (request: Request, { maxValues = maxJsonValues } = {}): Promise<unknown> => {
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/([a-z.-]+\+)?json\s*(;|$)/i.test(type)) {
    throw new Problem('unsupported_media_type', 'Send the body as application/json.')
  }
  const bytes = await readBytes(request, maxJsonBytes)
  refuseLargeStructure(bytes, maxValues)
  const body = parse(bytes)
  const faults = createFaultList()
  findUnsafeParts(body, [], faults)
  if (faults.total() > 0) throw faults.toProblem()
  return body
}

const maxDepth = 33
const [quote, backslash, comma] = [0x22, 0x5c, 0x2c]
/** Each opening bracket with the one that closes it. */
const closing = new Map([
  [0x5b, 0x5d],
  [0x7b, 0x7d],
])
const closings = new Set(closing.values())

/**
 * Counts the values and the nesting of a JSON text before anything is made of them, in one pass that ends at the first
 * one too many. Commas, and the openings of arrays and objects that are not empty, each bring one more value.
 */
const refuseLargeStructure = (bytes: Uint8Array, maxValues: number): void => {
  let values = 1
  let depth = 0
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0
    if (byte === quote) at = endOfString(bytes, at)
    else if (byte === comma) values += 1
    else if (closing.has(byte)) {
      depth += 1
      if (bytes[at + 1] !== closing.get(byte)) values += 1
    } else if (closings.has(byte)) depth -= 1
    if (depth > maxDepth) {
      throw new Problem('invalid_request', `The body is nested more than ${maxDepth} levels deep, which is the limit.`)
    }
    if (values > maxValues) {
      throw new Problem('body_too_large', `The body has more than ${maxValues} JSON values, which is the limit here.`)
    }
  }
}

const endOfString = (bytes: Uint8Array, start: number): number => {
  let at = start + 1
  while (at < bytes.length && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1
  return at
}

const parse = (bytes: Buffer): unknown => {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (cause) {
    throw new Problem('malformed_json', 'The body cannot be parsed as JSON in UTF-8 (RFC 8259).', { cause })
  }
}

const refusedKeys = ['__proto__', 'constructor', 'prototype']

/**
 * Finds what no body may hold: keys that reach a prototype in careless code, which validation would drop without an
 * error, and text that Postgres cannot keep (U+0000, lone surrogates). `path` leads to the value and is the same array
 * throughout, so that a body without faults costs no allocation.
 */
const findUnsafeParts = (value: unknown, path: PropertyKey[], faults: FaultList): void => {
  if (typeof value === 'string') {
    if (!isStorable(value)) faults.add(path, unstorable)
    return
  }
  if (typeof value !== 'object' || value === null) return
  const keys = Array.isArray(value) ? value.keys() : Object.keys(value)
  for (const key of keys) {
    path.push(key)
    if (typeof key === 'string' && !isStorable(key)) faults.add(path, unstorable)
    if (typeof key === 'string' && refusedKeys.includes(key)) faults.add(path, 'this key is refused')
    else findUnsafeParts(value[key as keyof typeof value], path, faults)
    path.pop()
  }
}

const unstorable = 'must not contain U+0000 or half of a surrogate pair'
/** Whether Postgres can keep a text as it is. */
export const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed()
