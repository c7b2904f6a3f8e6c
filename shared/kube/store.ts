import { type KubeObject, objectKey } from './objects.ts'

/** What happened to an object of a cache; `initial` where a full list told it and not a watch. */
export type Change<T> =
  | { readonly type: 'added'; readonly key: string; readonly object: T; readonly initial: boolean }
  | { readonly type: 'updated'; readonly key: string; readonly object: T; readonly initial: boolean }
  | { readonly type: 'deleted'; readonly key: string; readonly object: T; readonly initial: boolean }

/** The last seen version of each object, by `namespace/name`. What is read must not be changed. */
export type Store<T> = {
  get(key: string): T | undefined
  list(): T[]
}

/** A store that its reflector writes; every write returns the changes that it made. */
export const createStore = <T extends KubeObject>() => {
  const objects = new Map<string, T>()

  const put = (object: T, initial: boolean): Change<T>[] => {
    const key = objectKey(object.metadata)
    const before = objects.get(key)
    objects.set(key, object)
    if (before === undefined) return [{ type: 'added', key, object, initial }]
    // The same name with another uid is another object: the first one is gone.
    if (before.metadata.uid !== object.metadata.uid) {
      return [
        { type: 'deleted', key, object: before, initial },
        { type: 'added', key, object, initial },
      ]
    }
    if (initial && before.metadata.resourceVersion === object.metadata.resourceVersion) return []
    return [{ type: 'updated', key, object, initial }]
  }
  const remove = (key: string, last: T | undefined, initial: boolean): Change<T>[] => {
    const before = objects.get(key)
    if (before === undefined) return []
    objects.delete(key)
    return [{ type: 'deleted', key, object: last ?? before, initial }]
  }
  return {
    read: { get: (key: string) => objects.get(key), list: () => [...objects.values()] } satisfies Store<T>,
    put: (object: T) => put(object, false),
    remove: (object: T) => remove(objectKey(object.metadata), object, false),
    /** Makes the store equal to a full list. */
    replace: (items: readonly T[]): Change<T>[] => {
      const present = new Set(items.map((item) => objectKey(item.metadata)))
      const gone = [...objects.keys()].filter((key) => !present.has(key))
      return [...gone.flatMap((key) => remove(key, undefined, true)), ...items.flatMap((item) => put(item, true))]
    },
  }
}
