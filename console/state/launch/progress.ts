/** The numbers of runs that were requested until a time, and of those that were ready by then. Milliseconds since 1970. */
export type Point = { readonly atMs: number; readonly requested: number; readonly ready: number }

/** The number of steps between the first and the last point. */
const steps = 30

/**
 * Returns how the numbers grew, in equal steps from the first request until `endMs`, by default the last time at which one of them
 * grew. The ready ones are those that are ready now, at the time since which they are. Without a request there are no points.
 */
export const toProgress = (
  requestsMs: readonly number[],
  readyMs: readonly number[],
  endMs?: number,
): readonly Point[] => {
  const [requests, ready] = [Float64Array.from(requestsMs).sort(), Float64Array.from(readyMs).sort()]
  const [firstMs] = requests
  if (firstMs === undefined) return []
  const lastMs = Math.max(firstMs, endMs ?? Math.max(requests.at(-1) ?? 0, ready.at(-1) ?? 0))
  const stepMs = (lastMs - firstMs) / steps
  let [requestsSeen, readySeen] = [0, 0]
  return Array.from({ length: steps + 1 }, (_, step) => {
    const atMs = step === steps ? lastMs : firstMs + step * stepMs
    while ((requests[requestsSeen] ?? Number.POSITIVE_INFINITY) <= atMs) requestsSeen += 1
    while ((ready[readySeen] ?? Number.POSITIVE_INFINITY) <= atMs) readySeen += 1
    return { atMs, requested: requestsSeen, ready: readySeen }
  })
}
