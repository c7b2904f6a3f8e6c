/** The error that stopped further batches. */
export type BatchFailure = { readonly error: unknown }

/**
 * Runs tasks in batches of 1, 2, 4, … up to `max`, each in parallel, as the ReplicaSet controller creates pods
 * (kubernetes pkg/controller/replicaset, slowStartBatch): if the first is refused, thousands are not tried. No batch
 * begins after a failure, or once `mayContinue` returns false. Returns the failure of the earliest failed item.
 */
export const runInBatches = async <T>(
  items: readonly T[],
  { first = 1, max, mayContinue }: { first?: number; max: number; mayContinue: () => boolean },
  task: (item: T) => Promise<void>,
): Promise<BatchFailure | undefined> => {
  for (let begun = 0, size = first; begun < items.length && mayContinue(); size = Math.min(size * 2, max)) {
    const batch = items.slice(begun, begun + size)
    begun += batch.length
    const results = await Promise.allSettled(batch.map(task))
    const failed = results.find((result) => result.status === 'rejected')
    if (failed !== undefined) return { error: failed.reason }
  }
  return undefined
}
