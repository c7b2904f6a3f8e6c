import type { Frame } from './pending.ts'

/** Makes frames one piece of bytes: a write of many frames costs the system little more than that of one. */
export type Join = (frames: readonly Frame[]) => Buffer

/** Joins frames. Who follows what another one follows gets the same frames, so the last bytes are kept for the next. */
export const createJoin = (): Join => {
  let last: readonly Frame[] = []
  let bytes = Buffer.alloc(0)
  return (frames) => {
    const [first] = frames
    if (frames.length === 1 && first !== undefined) return first.bytes
    if (areSame(frames, last)) return bytes
    last = frames
    bytes = Buffer.concat(frames.map((frame) => frame.bytes))
    return bytes
  }
}

const areSame = (some: readonly Frame[], others: readonly Frame[]): boolean => {
  if (some.length !== others.length) return false
  for (let at = 0; at < some.length; at += 1) if (some[at] !== others[at]) return false
  return true
}
