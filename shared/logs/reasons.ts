/** The reasons for which the operator cannot give a log, with the HTTP status of its answer. */
export const logRefusals = {
  /** No pod matches the ticket. */
  NotFound: 404,
  /** The container has not started. */
  NotStarted: 409,
  /** The node of the pod does not answer. */
  NodeUnreachable: 502,
  /** The operator serves its maximum number of logs. */
  Busy: 503,
} as const

/** A reason for which the operator cannot give a log. */
export type LogRefusal = keyof typeof logRefusals

/** The path of the log server. It carries no information. */
export const logPath = '/logs'

/** The longest time for which a log is followed. */
export const maxFollowMs = 15 * 60_000

/** The maximum size of a log that is not followed, and of the tail that is kept of a failed pod. */
export const maxLogBytes = 4 * 1024 * 1024
export const maxTailBytes = 64 * 1024

/** Yields at most `maxBytes`, and then ends the source. */
export async function* limitBytes(chunks: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<Buffer> {
  let left = maxBytes
  for await (const chunk of chunks) {
    yield chunk.subarray(0, left)
    left -= chunk.length
    if (left <= 0) return
  }
}

/** The time for which the operator keeps a tail, and within which the API can fetch it. */
export const tailKeptMs = 10 * 60_000
