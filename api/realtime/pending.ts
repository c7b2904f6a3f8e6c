/** An encoded frame. `writtenMs` is the monotonic time at which its change was written; undefined for snapshots and notices. */
export type Frame = { readonly bytes: Buffer; readonly writtenMs: number | undefined }

/** The limit of queued bytes per connection. Updates above it are dropped, and their documents are read again later. */
export const maxPendingBytes = 1024 * 1024
/** Above this number of frames only the newest update of each document is kept. */
const maxPendingFrames = 512
/** The limit of queued warnings and errors. A client that exceeds it sends requests without reading the responses. */
const maxNotices = 256

/** The frames queued for one connection: notices first, then updates in order. `keys[i]` is the key of `updates[i]`. */
export type Pending<Key> = {
  notices: Frame[]
  updates: Frame[]
  keys: Key[]
  bytes: number
}

/** Returns an empty queue. */
export const createPending = <Key>(): Pending<Key> => ({ notices: [], updates: [], keys: [], bytes: 0 })

/** Returns the number of queued frames. */
export const frameCount = ({ notices, updates }: Pending<unknown>): number => notices.length + updates.length

export const isEmpty = (pending: Pending<unknown>): boolean => frameCount(pending) === 0

/** Queues a warning or an error. Returns false if too many are queued. */
export const offerNotice = (pending: Pending<unknown>, frame: Frame): boolean => {
  if (pending.notices.length >= maxNotices) return false
  pending.notices.push(frame)
  pending.bytes += frame.bytes.length
  return true
}

/**
 * Queues an update that is newer than all queued updates with the same key. If `behind` is true or the queue is full, it
 * replaces them. An update that still does not fit is refused, and no update with its key stays queued. `replaced` is the
 * number of updates that were removed.
 */
export const offerUpdate = <Key>(
  pending: Pending<Key>,
  key: Key,
  frame: Frame,
  behind: boolean,
): { accepted: boolean; replaced: number } => {
  const more = frame.bytes.length
  const full = frameCount(pending) >= maxPendingFrames || pending.bytes + more > maxPendingBytes
  const replaced = behind || full ? removeUpdates(pending, key) : 0
  // A single frame may exceed the limit; otherwise it could never be sent.
  if (!isEmpty(pending) && pending.bytes + more > maxPendingBytes) return { accepted: false, replaced }
  pending.updates.push(frame)
  pending.keys.push(key)
  pending.bytes += more
  return replaced === 0 ? accepted : { accepted: true, replaced }
}

/** The most frequent result, allocated once. */
const accepted = { accepted: true, replaced: 0 } as const

/** Removes the queued updates with this key and returns their number. */
export const removeUpdates = <Key>(pending: Pending<Key>, key: Key): number => {
  const { updates, keys } = pending
  let kept = 0
  for (const [at, frame] of updates.entries()) {
    const owner = keys[at] as Key
    if (owner === key) pending.bytes -= frame.bytes.length
    else {
      updates[kept] = frame
      keys[kept] = owner
      kept += 1
    }
  }
  const removed = updates.length - kept
  updates.length = kept
  keys.length = kept
  return removed
}

/** Removes and returns frames in order until their size exceeds `bytes` or the queue is empty. */
export const dequeueFrames = (pending: Pending<unknown>, bytes: number): readonly Frame[] => {
  if (pending.notices.length === 0 && pending.bytes <= bytes) return dequeueAll(pending)
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

/** Removes and returns all frames. This is the frequent case, with updates only, and it needs no copy. */
const dequeueAll = (pending: Pending<unknown>): readonly Frame[] => {
  const { updates } = pending
  pending.updates = []
  pending.keys = []
  pending.bytes = 0
  return updates
}
