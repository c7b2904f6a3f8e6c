/** A read past the end of the bytes. `fault` continues the words "The answer". */
export class CutError extends Error {
  readonly fault: string

  constructor(length: number, before: string) {
    const fault = `has ${length} ${length === 1 ? 'byte' : 'bytes'} and ends before ${before}`
    super(fault)
    this.fault = fault
  }
}

/**
 * Reads bytes from the first to the last. Each read names what it reads (`the number of players`), and throws a `CutError` past the end.
 * A read allocates no more than the bytes that are there, whatever length they announce.
 */
export type Reader = {
  readonly u8: (what: string) => number
  readonly u16: (what: string, order?: 'little') => number
  readonly u32: (what: string, order?: 'little') => number
  /** Returns a view of the next bytes. */
  readonly take: (length: number, what: string) => Uint8Array
  /** Returns text in UTF-8 of `length` bytes. Bytes that are not UTF-8 become U+FFFD. */
  readonly text: (length: number, what: string) => string
  /** Returns text up to a zero byte, and skips the byte. */
  readonly textToZero: (what: string) => string
  /** Returns a view of all bytes that are left. */
  readonly rest: () => Uint8Array
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** Returns a reader of the bytes. Numbers are in network order (big-endian), unless a read says `little`. */
export const createReader = (bytes: Uint8Array): Reader => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let at = 0

  /** Moves on by a length, and returns the place before it. A length that a server announces may be negative. */
  const pass = (length: number, what: string): number => {
    if (length < 0 || length > bytes.length - at) throw new CutError(bytes.length, what)
    at += length
    return at - length
  }
  const take = (length: number, what: string): Uint8Array => {
    const from = pass(length, what)
    return bytes.subarray(from, from + length)
  }
  const text = (length: number, what: string): string => decoder.decode(take(length, `the end of ${what}`))

  return {
    u8: (what) => view.getUint8(pass(1, what)),
    u16: (what, order) => view.getUint16(pass(2, what), order === 'little'),
    u32: (what, order) => view.getUint32(pass(4, what), order === 'little'),
    take,
    text,
    textToZero: (what) => {
      const end = bytes.indexOf(0, at)
      const found = text(end < 0 ? Number.POSITIVE_INFINITY : end - at, what)
      pass(1, what)
      return found
    },
    rest: () => bytes.subarray(pass(bytes.length - at, '')),
  }
}

/** Returns the bytes of all parts in one array. */
export const joinBytes = (parts: readonly Uint8Array[]): Uint8Array => {
  const joined = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    joined.set(part, at)
    at += part.length
  }
  return joined
}

/** Returns what `read` makes of the bytes, or the fault of a read past their end. */
export const readBytes = <T>(
  bytes: Uint8Array,
  read: (reader: Reader) => T,
): T | { readonly kind: 'fault'; readonly fault: string } => {
  try {
    return read(createReader(bytes))
  } catch (error) {
    if (error instanceof CutError) return { kind: 'fault', fault: error.fault }
    throw error
  }
}
