/** An object as it was put. */
export type StoredObject = { readonly bytes: Uint8Array; readonly contentType: string }

/** An object in a list; some stores round the time to seconds. */
export type ListedObject = { readonly name: string; readonly modifiedAt: Date }

/**
 * Keeps immutable objects by name (names.ts has the rules; a name, type or size against them is an error). An object is
 * seen whole or not at all. Where the store cannot serve, a call throws an `ObjectStoreError`; one to S3 within 60 seconds.
 */
export type ObjectStore = {
  /** Resolves when the object is stored; it replaces one of the same name. */
  put(name: string, bytes: Uint8Array, contentType: string): Promise<void>
  /** Undefined where there is none of that name. */
  get(name: string): Promise<StoredObject | undefined>
  /** Removing what is absent is fine. */
  remove(name: string): Promise<void>
  /**
   * At most `limit` (1 to 1000) objects whose names begin with `prefix` and sort after `after`, by the bytes of their
   * names. Fewer than the limit means that there are no more. What no put could have made is not listed.
   */
  list(options: ListOptions): Promise<ListedObject[]>
}

/** What part of the store to list. */
export type ListOptions = { readonly prefix: string; readonly limit: number; readonly after?: string }
