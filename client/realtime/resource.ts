import type { PutCollection, PutKvStore, PutLiveConfig, World } from '../operations.ts'

/**
 * A world in the resource `worlds`. Its versions sort as strings and never go back. They stay when only restarts or what the
 * server reports changes. The players are absent while no server reports any.
 */
export type FeedWorld = {
  readonly worldId: string
  readonly projectId: string
  readonly version: string
  readonly name: string
  readonly createdAt: string
  readonly labels: World['metadata']['labels']
  readonly profile: World['networking']['scaling']['profile']
  readonly group: World['compute']['group']
  readonly region: World['compute']['region']
  readonly mapName: string
  readonly capacity: number
  readonly players?: number
  readonly queued?: number
  readonly reportedVersion?: string
  readonly reportedMap?: string
  readonly restarts: number
  readonly status: World['status']
}

/** The data of each resource type. That of `worlds` are all present worlds by id, in a new map for each change. */
export type ResourceData = {
  readonly kvStore: PutKvStore['data']
  readonly collection: PutCollection['data']
  readonly liveConfig: PutLiveConfig['data']
  readonly world: World['status']
  readonly worlds: ReadonlyMap<string, FeedWorld>
}
export type ResourceType = keyof ResourceData
/**
 * The name of a resource in a subscription. The id is a world's id, a project's or organization's id for its `worlds`, or a
 * document's id, which may name its scope first.
 */
export type Resource<Type extends ResourceType = ResourceType> = { readonly type: Type; readonly id: string }
