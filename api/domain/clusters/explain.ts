import type { ClusterStateRow } from './table.ts'

/** Returns what happened to a refused cluster and what to do. Empty for an accepted one. */
export const explainRefusal = ({ refusal, refusedUid }: Pick<ClusterStateRow, 'refusal' | 'refusedUid'>): string => {
  if (refusal === null) return ''
  const advice = 'Nothing is pushed or pulled. Connect the API to the right cluster, or run "orrery sync accept".'
  return refusal === 'AnotherCluster'
    ? `The API is connected to another cluster, whose uid is ${refusedUid}. ${advice}`
    : `The cluster was restored from a backup: its resourceVersion is lower than before. ${advice}`
}
