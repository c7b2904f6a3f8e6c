import { type Clock, sleep } from '#shared/clock.ts'
import type { LogEncoding, LogEnd } from './encoding.ts'

/** The limits of one log response: its longest duration, its rate and its pauses. */
export type StreamLimits = {
  readonly durationMs: number
  /** The rate after the first `burstBytes`. */
  readonly bytesPerSecond: number
  readonly burstBytes: number
  readonly keepAliveMs: number
}

/** A body that is being sent. `end` closes it early with a reason. */
export type LogBody = { readonly body: ReadableStream<Uint8Array>; readonly end: (reason: LogEnd) => void }

/**
 * Returns the body of a log. It is read only as fast as the client reads, and not faster than the limit. It ends with the
 * log, at the longest duration, or when the client goes away. Then `onEnd` is called once, which must end the log.
 */
export const streamLog = (
  chunks: AsyncIterable<Uint8Array>,
  options: { encoding: LogEncoding; limits: StreamLimits; clock: Clock; onEnd: () => void },
): LogBody => {
  const { encoding, limits, clock, onEnd } = options
  const iterator = chunks[Symbol.asyncIterator]()
  const pace = createPace(limits, clock)
  const stopped = new AbortController()
  let sink: ReadableStreamDefaultController<Uint8Array> | undefined
  const stop = (): boolean => {
    if (stopped.signal.aborted) return false
    stopped.abort()
    timer.cancel()
    keepingAlive?.cancel()
    onEnd()
    return true
  }
  const end = (reason: LogEnd): void => {
    if (!stop()) return
    const last = encoding.finish(reason)
    if (last.length > 0) sink?.enqueue(last)
    sink?.close()
  }
  const keepAlive = (): void => {
    if (encoding.keepAlive !== undefined && (sink?.desiredSize ?? 0) > 0) sink?.enqueue(encoding.keepAlive)
    keepingAlive = clock.setTimeout(keepAlive, limits.keepAliveMs)
  }
  const timer = clock.setTimeout(() => end('Duration'), limits.durationMs)
  let keepingAlive = encoding.keepAlive && clock.setTimeout(keepAlive, limits.keepAliveMs)
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    try {
      for (;;) {
        const { done, value } = await iterator.next()
        if (stopped.signal.aborted) return
        if (done === true) return end('End')
        const bytes = encoding.encode(value)
        await pace(bytes.length, stopped.signal)
        if (stopped.signal.aborted) return
        if (bytes.length > 0) return controller.enqueue(bytes)
      }
    } catch {
      end('Interrupted')
    }
  }
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      sink = controller
    },
    pull,
    cancel: () => void stop(),
  })
  return { body, end }
}

/** Returns a function that waits until that many more bytes may be sent. */
const createPace = ({ bytesPerSecond, burstBytes }: StreamLimits, clock: Clock) => {
  let available = burstBytes
  let atMs = clock.monotonic()
  return async (bytes: number, signal: AbortSignal): Promise<void> => {
    const nowMs = clock.monotonic()
    available = Math.min(burstBytes, available + ((nowMs - atMs) / 1000) * bytesPerSecond) - bytes
    atMs = nowMs
    if (available < 0) await sleep(clock, (-available / bytesPerSecond) * 1000, signal)
  }
}
