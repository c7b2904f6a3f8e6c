/** Bytes for the wire, and when what they tell was written, by the monotonic time; undefined for a first answer. */
export type Frame = { readonly bytes: Buffer; readonly writtenMs: number | undefined }

/** More than this is not kept for one connection: what exceeds it is read again when the connection can take it. */
export const maxPendingBytes = 1024 * 1024
/** Beyond this many frames only the latest of each resource is kept. */
const maxPendingFrames = 512
/** Warnings and errors that wait; a client that asks for more without reading is not a good one. */
const maxNotices = 256

/** What waits to be written to one connection: notices first, then updates in their order, each at the place of its key. */
export type Pending<Key> = {
  notices: Frame[]
  updates: Frame[]
  keys: Key[]
  bytes: number
}

/** Nothing yet. */
export const createPending = <Key>(): Pending<Key> => ({ notices: [], updates: [], keys: [], bytes: 0 })

/** How many frames wait. */
export const framesOf = ({ notices, updates }: Pending<unknown>): number => notices.length + updates.length

export const isEmpty = (pending: Pending<unknown>): boolean => framesOf(pending) === 0

/** Adds a warning or an error; false where there are too many. */
export const offerNotice = (pending: Pending<unknown>, frame: Frame): boolean => {
  if (pending.notices.length >= maxNotices) return false
  pending.notices.push(frame)
  pending.bytes += frame.bytes.length
  return true
}

/**
 * Adds an update that is newer than all that wait of its resource. With `behind`, or when much waits already, it takes
 * their place; what is still too much is refused, and nothing of the resource waits then. `replaced` counts those that
 * went.
 */
export const offerUpdate = <Key>(
  pending: Pending<Key>,
  key: Key,
  frame: Frame,
  behind: boolean,
): { taken: boolean; replaced: number } => {
  const more = frame.bytes.length
  const full = framesOf(pending) >= maxPendingFrames || pending.bytes + more > maxPendingBytes
  const replaced = behind || full ? removeUpdates(pending, key) : 0
  // One frame alone may be larger than the limit, or it could never be sent.
  if (!isEmpty(pending) && pending.bytes + more > maxPendingBytes) return { taken: false, replaced }
  pending.updates.push(frame)
  pending.keys.push(key)
  pending.bytes += more
  return replaced === 0 ? taken : { taken: true, replaced }
}

/** What most offers come to, made once. */
const taken = { taken: true, replaced: 0 } as const

/** Forgets what waits of a resource; returns how much it was. */
export const removeUpdates = <Key>(pending: Pending<Key>, key: Key): number => {
  const { updates, keys } = pending
  let kept = 0
  for (const [at, frame] of updates.entries()) {
    const of = keys[at] as Key
    if (of === key) pending.bytes -= frame.bytes.length
    else {
      updates[kept] = frame
      keys[kept] = of
      kept += 1
    }
  }
  const removed = updates.length - kept
  updates.length = kept
  keys.length = kept
  return removed
}

/** Takes frames in order until they have more than so many bytes, or none is left; what is not taken stays as it is. */
export const takeFrames = (pending: Pending<unknown>, bytes: number): readonly Frame[] => {
  if (pending.notices.length === 0 && pending.bytes <= bytes) return takeAll(pending)
  const frames: Frame[] = []
  let room = bytes
  const takeFrom = (waiting: readonly Frame[]): number => {
    let count = 0
    for (let frame = waiting[0]; frame !== undefined && room >= 0; frame = waiting[count]) {
      frames.push(frame)
      room -= frame.bytes.length
      count += 1
    }
    return count
  }
  pending.notices.splice(0, takeFrom(pending.notices))
  const updates = takeFrom(pending.updates)
  pending.updates.splice(0, updates)
  pending.keys.splice(0, updates)
  pending.bytes -= bytes - room
  return frames
}

/** Nearly always there is room for all, and there are only updates: they need no copy. */
const takeAll = (pending: Pending<unknown>): readonly Frame[] => {
  const { updates } = pending
  pending.updates = []
  pending.keys = []
  pending.bytes = 0
  return updates
}
