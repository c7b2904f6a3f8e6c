/**
 * Works off items in batches of 1, 2, 4, … up to `most`, each batch in parallel, as the ReplicaSet controller makes pods
 * (kubernetes pkg/controller/replicaset, slowStartBatch): where the first fails, one request was wasted and not
 * thousands. After the batch in which one fails nothing more is begun. Returns the failure of the earliest such item.
 */
export const slowStart = async <T>(
  items: readonly T[],
  { first = 1, most }: { first?: number; most: number },
  work: (item: T) => Promise<void>,
): Promise<{ error: unknown } | undefined> => {
  for (let begun = 0, size = first; begun < items.length; size = Math.min(size * 2, most)) {
    const batch = items.slice(begun, begun + size)
    begun += batch.length
    const outcomes = await Promise.allSettled(batch.map(work))
    const failed = outcomes.find((outcome) => outcome.status === 'rejected')
    if (failed !== undefined) return { error: failed.reason }
  }
  return undefined
}
