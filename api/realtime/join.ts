import type { Frame } from './pending.ts'

/** Joins frames into one buffer, because one large write costs little more than one small write. */
export type JoinFrames = (frames: readonly Frame[]) => Buffer

/** Returns a join function that caches its last result, since subscribers of the same topics get the same frames. */
export const createFrameJoiner = (): JoinFrames => {
  let last: readonly Frame[] = []
  let bytes = Buffer.alloc(0)
  return (frames) => {
    const [first] = frames
    if (frames.length === 1 && first !== undefined) return first.bytes
    if (isSameSequence(frames, last)) return bytes
    last = frames
    bytes = Buffer.concat(frames.map((frame) => frame.bytes))
    return bytes
  }
}

const isSameSequence = (some: readonly Frame[], others: readonly Frame[]): boolean => {
  if (some.length !== others.length) return false
  for (let at = 0; at < some.length; at += 1) if (some[at] !== others[at]) return false
  return true
}
