/**
 * The number of requests at a time: fewer than the connections of an API to Postgres. With the platform key, whose requests do
 * not wait in the share of an organization, more of them could wait too long for a connection on a slow machine.
 */
const atATime = 12

/** Runs `act` for the numbers below `count`, some of them at a time. Returns the results in order. */
export const concurrently = async <T>(count: number, act: (at: number) => Promise<T>): Promise<T[]> => {
  const results: T[] = []
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < count) {
      const at = next
      next += 1
      results[at] = await act(at)
    }
  }
  await Promise.all(Array.from({ length: atATime }, worker))
  return results
}
