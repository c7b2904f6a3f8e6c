import type { PutCollection, PutKvStore, PutLiveConfig, World } from '../operations.ts'

/** The data of each resource type. */
export type ResourceData = {
  readonly kvStore: PutKvStore['data']
  readonly collection: PutCollection['data']
  readonly liveConfig: PutLiveConfig['data']
  readonly world: World['status']
}
export type ResourceType = keyof ResourceData
/** The name of a resource in a subscription: the id of a world, or the id of a document with its scope before it. */
export type Resource<Type extends ResourceType = ResourceType> = { readonly type: Type; readonly id: string }
