import type { Lease } from '#api/platform/fairness/budget.ts'
import type { Clock, Timer } from '#shared/clock.ts'
import { findUnstorable } from '#shared/storable.ts'
import { createFaultList } from './faults.ts'
import { holdOrRefuse } from './inFlight.ts'
import { Problem } from './problem.ts'

/** The maximum size of a JSON body, in bytes. */
export const maxJsonBytes = 1024 * 1024

/** The maximum number of values in a JSON body. Every array, object, element and member counts as one. */
export const maxJsonValues = 2_500

/** The maximum size of an uploaded file, in bytes. */
export const maxUploadBytes = 10 * 1024 * 1024

/** The bytes that a multipart body may add to its file. */
export const multipartOverheadBytes = 64 * 1024

/** The minimum rate of a body, measured over each window. */
const minBytesPerSecond = 1_024
const rateWindowMs = 5_000

/** Returns a promise that rejects with a 408 at the end of the first window whose bytes are below the minimum rate. */
const createRateCheck = (clock: Clock) => {
  let bytes = 0
  let timer: Timer | undefined
  const tooSlow = new Promise<never>((_, reject) => {
    const check = (): void => {
      if (bytes < (minBytesPerSecond * rateWindowMs) / 1_000) {
        const detail = `The body is too slow. Send at least ${minBytesPerSecond} bytes per second.`
        reject(new Problem('body_too_slow', detail))
      } else {
        bytes = 0
        timer = clock.setTimeout(check, rateWindowMs)
      }
    }
    timer = clock.setTimeout(check, rateWindowMs)
  })
  tooSlow.catch(() => undefined)
  return {
    tooSlow,
    add: (count: number): void => {
      bytes += count
    },
    end: (): void => timer?.cancel(),
  }
}

/** The lease of the request, which holds the bytes that have arrived, at most twice their number, and the clock that measures its rate. */
export type BodyReader = { readonly lease: Lease; readonly clock: Clock }

/**
 * Reads a whole body, with or without a Content-Length. Throws a 413 as soon as the body exceeds the limit, without
 * reading the rest, a 408 if less than 1 KiB per second arrives in 5 seconds, and a 429 or 503 if the lease cannot hold the body.
 */
export const readBytes = async (request: Request, maxBytes: number, { lease, clock }: BodyReader): Promise<Buffer> => {
  const tooLarge = (): Problem =>
    new Problem('body_too_large', `The body is too large. The limit is ${maxBytes} bytes.`)
  const declared = Number(request.headers.get('content-length') ?? 0)
  if (declared > maxBytes) throw tooLarge()
  if (declared > lease.available()) holdOrRefuse(lease, declared)
  let body = Buffer.alloc(0)
  let bytes = 0
  // Leaving a `for await` loop over the body would cancel it and close the connection before the response is sent.
  const reader = request.body?.getReader()
  if (reader === undefined) return Buffer.alloc(0)
  const rate = createRateCheck(clock)
  const read = () => Promise.race([reader.read(), rate.tooSlow])
  try {
    for (let next = await read(); !next.done; next = await read()) {
      const end = bytes + next.value.byteLength
      if (end > maxBytes) throw tooLarge()
      if (end > body.length) {
        // The lease holds the bytes that have arrived, not those that the request announced.
        const room = Math.max(end, Math.min(declared || maxBytes, 2 * body.length))
        holdOrRefuse(lease, room)
        body = Buffer.concat([body], room)
      }
      body.set(next.value, bytes)
      bytes = end
      rate.add(next.value.byteLength)
    }
  } finally {
    rate.end()
  }
  return body.subarray(0, bytes)
}

/** Reads and checks a JSON body. Throws a 415, 413, 408, 400, and a 429 or 503 if the lease cannot hold it. */
export const readJson = async (
  request: Request,
  body: BodyReader,
  { maxValues = maxJsonValues } = {},
): Promise<unknown> => {
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/([a-z.-]+\+)?json\s*(;|$)/i.test(type)) {
    throw new Problem('unsupported_media_type', 'The content type of the body is not JSON. Send application/json.')
  }
  const bytes = await readBytes(request, maxJsonBytes, body)
  refuseLargeStructure(bytes, maxValues)
  const value = parse(bytes)
  const faults = createFaultList()
  findUnstorable(value, faults.add)
  if (faults.total() > 0) throw faults.toProblem()
  return value
}

const maxDepth = 33
const [quote, backslash, comma] = [0x22, 0x5c, 0x2c]
/** The closing bracket for each opening bracket. */
const closing = new Map([
  [0x5b, 0x5d],
  [0x7b, 0x7d],
])
const closings = new Set(closing.values())

/**
 * Checks the number of values and the nesting of JSON text before it is parsed, in one pass. Every comma and every opening
 * bracket of a non-empty array or object adds one value.
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
      throw new Problem('invalid_request', `The body is nested too deeply. The limit is ${maxDepth} levels.`)
    }
    if (values > maxValues) {
      throw new Problem('body_too_large', `The body has too many JSON values. The limit is ${maxValues}.`)
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
    throw new Problem('malformed_json', 'The body is not valid JSON in UTF-8 (RFC 8259).', { cause })
  }
}
