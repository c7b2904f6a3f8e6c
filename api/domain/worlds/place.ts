/** A group and region of compute. */
export type Place = { readonly group: string; readonly region: string }

/** A cluster and the places that it serves. */
export type ServedCluster = { readonly name: string; readonly places: readonly Place[] }

/** The clusters that are configured now. */
export type ClusterDirectory = {
  /** Returns the name of the cluster that serves a place, or undefined if none does. */
  readonly clusterOf: (place: Place) => string | undefined
  readonly names: () => readonly string[]
  readonly update: (clusters: readonly ServedCluster[]) => void
}

/** Creates the directory of the clusters. */
export const createClusterDirectory = (initial: readonly ServedCluster[]): ClusterDirectory => {
  let clusters = initial
  const isServed =
    ({ group, region }: Place) =>
    (place: Place) =>
      place.group === group && place.region === region
  return {
    clusterOf: (place) => clusters.find(({ places }) => places.some(isServed(place)))?.name,
    names: () => clusters.map(({ name }) => name),
    update: (next) => {
      clusters = next
    },
  }
}
