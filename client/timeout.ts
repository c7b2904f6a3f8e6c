const maxTimeoutMs = 2 ** 31 - 1

/** Returns the timeout. Throws a RangeError if no timer can wait that long. */
export const checkTimeout = (timeoutMs: number): number => {
  if (timeoutMs > 0 && timeoutMs <= maxTimeoutMs) return timeoutMs
  throw new RangeError(`timeoutMs must be more than 0 and at most ${maxTimeoutMs}, not ${timeoutMs}.`)
}

/** Runs the work with a signal that is aborted after the timeout, with a DOMException named TimeoutError, or by `signal`. */
export const withTimeout = async <T>(
  work: (signal: AbortSignal) => Promise<T>,
  { operationId, timeoutMs, signal }: { operationId: string; timeoutMs: number; signal: AbortSignal | undefined },
): Promise<T> => {
  const controller = new AbortController()
  const message = `${operationId} was not answered within ${timeoutMs} ms.`
  const timer = setTimeout(() => controller.abort(new DOMException(message, 'TimeoutError')), timeoutMs)
  const abort = (): void => controller.abort(signal?.reason)
  const ended = new Promise<never>((_, reject) =>
    controller.signal.addEventListener('abort', () => reject(controller.signal.reason)),
  )
  if (signal?.aborted === true) abort()
  signal?.addEventListener('abort', abort)
  try {
    // The source of a token may not know the signal.
    return await Promise.race([work(controller.signal), ended])
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', abort)
  }
}
