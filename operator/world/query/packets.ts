import { joinBytes, type Reader, readBytes } from './bytes.ts'
import { maxAnswerBytes, type Next } from './exchange.ts'

/** The maximum number of packets that an answer may be split into. */
const maxParts = 16

/** The maximum number of packets for one question: answers, copies of them, and packets that the protocol ignores. */
const maxPackets = 64

/** The next step while a part of the answer is missing. */
export const more = { kind: 'more' } as const

/** Returns a fault that continues the words "The answer". */
export const toFault = (fault: string): { kind: 'fault'; fault: string } => ({ kind: 'fault', fault })

/**
 * Returns the `receive` of a protocol of datagrams. It reads each packet with `read`, and turns a read past the end into a fault. Too
 * many packets or bytes are a fault too, so an exchange ends whatever a server sends.
 */
export const receivePackets = (read: (reader: Reader) => Next): ((bytes: Uint8Array) => Next) => {
  let packets = 0
  let length = 0
  return (bytes) => {
    packets += 1
    length += bytes.length
    if (length > maxAnswerBytes) return toFault(`has more than ${maxAnswerBytes} bytes`)
    if (packets > maxPackets) return toFault(`has more than ${maxPackets} packets`)
    return readBytes(bytes, read)
  }
}

/** One packet of a split answer. `index` counts from 0. */
type Part = { readonly index: number; readonly total: number; readonly bytes: Uint8Array }

/** Returns a function that takes the parts of an answer in any order, and reads the whole answer with `read` once it has all of them. */
export const joinParts = (read: (reader: Reader) => Next): ((part: Part) => Next) => {
  const parts = new Map<number, Uint8Array>()
  let expected: number | undefined
  return ({ index, total, bytes }) => {
    expected ??= total
    if (total > maxParts) return toFault(`has ${total} packets, and the maximum is ${maxParts}`)
    if (total !== expected) return toFault(`announces ${expected} packets, and then ${total}`)
    if (index >= total) return toFault(`has the packet ${index + 1} of ${total}`)
    if (!parts.has(index)) parts.set(index, bytes)
    if (parts.size < total) return more
    return readBytes(joinBytes([...parts].sort(([a], [b]) => a - b).map(([, part]) => part)), read)
  }
}
