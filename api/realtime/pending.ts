/** Bytes for the wire, and when what they tell was written, by the monotonic time; undefined for a first answer. */
export type Frame = { readonly bytes: Buffer; readonly writtenMs: number | undefined }

/** More than this is not kept for one connection: what exceeds it is read again when the connection can take it. */
export const maxPendingBytes = 1024 * 1024
/** Beyond this many frames only the latest of each resource is kept. */
const maxPendingFrames = 512
/** Warnings and errors that wait; a client that asks for more without reading is not a good one. */
const maxNotices = 256

/** What waits to be written to one connection: notices first, then the updates of each resource in their order. */
export type Pending<Key> = {
  notices: Frame[]
  readonly updates: Map<Key, Frame[]>
  bytes: number
  frames: number
}

/** Nothing yet. */
export const createPending = <Key>(): Pending<Key> => ({ notices: [], updates: new Map(), bytes: 0, frames: 0 })

export const isEmpty = (pending: Pending<unknown>): boolean => pending.frames === 0

/** Adds a warning or an error; false where there are too many. */
export const offerNotice = (pending: Pending<unknown>, frame: Frame): boolean => {
  if (pending.notices.length >= maxNotices) return false
  pending.notices.push(frame)
  count(pending, frame, 1)
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
  const full = pending.frames >= maxPendingFrames || pending.bytes + frame.bytes.length > maxPendingBytes
  const replaced = behind || full ? removeUpdates(pending, key) : 0
  // One frame alone may be larger than the limit, or it could never be sent.
  if (pending.frames > 0 && pending.bytes + frame.bytes.length > maxPendingBytes) return { taken: false, replaced }
  const waiting = pending.updates.get(key)
  if (waiting === undefined) pending.updates.set(key, [frame])
  else waiting.push(frame)
  count(pending, frame, 1)
  return { taken: true, replaced }
}

/** Forgets what waits of a resource; returns how much it was. */
export const removeUpdates = <Key>(pending: Pending<Key>, key: Key): number => {
  const waiting = pending.updates.get(key) ?? []
  pending.updates.delete(key)
  for (const frame of waiting) count(pending, frame, -1)
  return waiting.length
}

/** Takes frames in order while `room` says that there is some; what is not taken stays as it is. */
export const takeFrames = (pending: Pending<unknown>, room: () => boolean, write: (frame: Frame) => void): void => {
  const takeFrom = (frames: Frame[]): boolean => {
    let taken = 0
    while (taken < frames.length && room()) {
      const frame = frames[taken]
      if (frame === undefined) break
      write(frame)
      count(pending, frame, -1)
      taken += 1
    }
    frames.splice(0, taken)
    return frames.length === 0
  }
  if (!takeFrom(pending.notices)) return
  for (const [key, frames] of pending.updates) {
    if (!takeFrom(frames)) return
    pending.updates.delete(key)
  }
}

const count = (pending: Pending<unknown>, { bytes }: Frame, by: 1 | -1): void => {
  pending.frames += by
  pending.bytes += by * bytes.length
}
