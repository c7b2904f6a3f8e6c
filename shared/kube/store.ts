import { type KubeObject, objectKey } from './objects.ts'

/** A change of an object in a cache. `initial` is true if it comes from a full list and not from a watch. */
export type Change<T> = { readonly key: string; readonly object: T; readonly initial: boolean } & (
  | { readonly type: 'added' | 'deleted' }
  | { readonly type: 'updated'; readonly old: T }
)

/** Functions that return the index values of an object. They must return the same values for the same object. */
export type Indexers<T> = Readonly<Record<string, (object: T) => readonly string[]>>

/** The objects of a cache by `namespace/name`. Callers must not modify them. */
export type Store<T> = {
  get(key: string): T | undefined
  list(): T[]
  /** Returns the objects with that index value. Throws a `RangeError` if there is no such index. */
  byIndex(index: string, value: string): T[]
  readonly size: number
}

/** Creates a store for a reflector. Each write returns the changes that it made. */
export const createStore = <T extends KubeObject>(indexers: Indexers<T> = {}) => {
  const objects = new Map<string, T>()
  const indexes = createIndexes(indexers)

  const set = (key: string, before: T | undefined, after: T | undefined): void => {
    if (before !== undefined) indexes.remove(key, before)
    if (after === undefined) objects.delete(key)
    else {
      objects.set(key, after)
      indexes.add(key, after)
    }
  }
  const put = (object: T, initial: boolean): Change<T>[] => {
    const key = objectKey(object)
    const old = objects.get(key)
    if (initial && old !== undefined && isSameVersion(old, object)) return []
    set(key, old, object)
    if (old === undefined) return [{ type: 'added', key, object, initial }]
    if (old.metadata.uid === object.metadata.uid) return [{ type: 'updated', key, object, old, initial }]
    // The same name with another uid is another object: the first one is gone.
    return [
      { type: 'deleted', key, object: old, initial },
      { type: 'added', key, object, initial },
    ]
  }
  const remove = (key: string, last: T | undefined, initial: boolean): Change<T>[] => {
    const old = objects.get(key)
    if (old === undefined) return []
    set(key, old, undefined)
    return [{ type: 'deleted', key, object: last ?? old, initial }]
  }
  const read: Store<T> = {
    get: (key) => objects.get(key),
    list: () => [...objects.values()],
    byIndex: (index, value) => indexes.keys(index, value).flatMap((key) => objects.get(key) ?? []),
    get size() {
      return objects.size
    },
  }
  return {
    read,
    put: (object: T): Change<T>[] => put(object, false),
    remove: (object: T): Change<T>[] => remove(objectKey(object), object, false),
    /** Makes the store equal to a full list. */
    replace: (items: readonly T[]): Change<T>[] => {
      const present = new Set(items.map(objectKey))
      const gone = [...objects.keys()].filter((key) => !present.has(key))
      return [...gone.flatMap((key) => remove(key, undefined, true)), ...items.flatMap((item) => put(item, true))]
    },
  }
}

const isSameVersion = (a: KubeObject, b: KubeObject): boolean =>
  a.metadata.uid === b.metadata.uid && a.metadata.resourceVersion === b.metadata.resourceVersion

const createIndexes = <T>(indexers: Indexers<T>) => {
  const indexes = new Map(Object.keys(indexers).map((name) => [name, new Map<string, Set<string>>()]))
  const each = (object: T, visit: (index: Map<string, Set<string>>, value: string) => void): void => {
    for (const [name, index] of indexes) for (const value of indexers[name]?.(object) ?? []) visit(index, value)
  }
  return {
    add: (key: string, object: T): void =>
      each(object, (index, value) => {
        const keys = index.get(value)
        if (keys === undefined) index.set(value, new Set([key]))
        else keys.add(key)
      }),
    remove: (key: string, object: T): void =>
      each(object, (index, value) => {
        const keys = index.get(value)
        keys?.delete(key)
        if (keys?.size === 0) index.delete(value)
      }),
    keys: (name: string, value: string): string[] => {
      const index = indexes.get(name)
      if (index === undefined) throw new RangeError(`no index ${name}; there are: ${[...indexes.keys()].join(', ')}`)
      return [...(index.get(value) ?? [])]
    },
  }
}
