import type { PutCollection, PutKvStore, PutLiveConfig, World } from '../operations.ts'

/** What the data of each type of resource is. */
export type DataOf = {
  readonly kvStore: PutKvStore['data']
  readonly collection: PutCollection['data']
  readonly liveConfig: PutLiveConfig['data']
  readonly world: World['status']
}
export type ResourceType = keyof DataOf
/** A resource as it is named when it is followed: a world by its id, a document also with its scope before the id. */
export type Resource<Type extends ResourceType = ResourceType> = { readonly type: Type; readonly id: string }
