/** An object's bytes and the content type with which it was stored. */
export type StoredObject = { readonly bytes: Uint8Array; readonly contentType: string }

/** An entry of a list. Some stores round the time to seconds. */
export type ListedObject = { readonly name: string; readonly modifiedAt: Date }

/**
 * A store of immutable objects by name. names.ts defines valid names, types and sizes; others throw. Readers never see a
 * partial object. If the store is unavailable, calls throw an `ObjectStoreError`, for S3 within 60 seconds.
 */
export type ObjectStore = {
  /** Stores an object and replaces one with the same name. */
  put(name: string, bytes: Uint8Array, contentType: string): Promise<void>
  /** Returns undefined if no object has this name. */
  get(name: string): Promise<StoredObject | undefined>
  /** Removes an object if it exists. */
  remove(name: string): Promise<void>
  /**
   * Returns at most `limit` (1 to 1000) objects whose names begin with `prefix` and sort after `after`, in byte order.
   * Fewer than `limit` objects mean that the list is complete. Objects with invalid names are skipped.
   */
  list(options: ListOptions): Promise<ListedObject[]>
}

/** The part of the store to list. */
export type ListOptions = { readonly prefix: string; readonly limit: number; readonly after?: string }
