/** The items of a list, as far as they were read. */
export type Items<T> = {
  readonly items: readonly T[]
  /** True if there are more, which were not read. */
  readonly hasMore: boolean
}

/** The items of a list, and whether it has more than one page. */
export type List<T> = Items<T> & { readonly isLong: boolean }

/** Returns at most `maxPages` pages of a list of the client. It requests one page more, to know whether there are more. */
export const readAll = async <T>(pages: AsyncIterable<readonly T[]>, maxPages = 10): Promise<List<T>> => {
  const items: T[] = []
  let read = 0
  for await (const page of pages) {
    if (read === maxPages) return { items, hasMore: true, isLong: true }
    items.push(...page)
    read += 1
  }
  return { items, hasMore: false, isLong: read > 1 }
}

/** A read of a list that repeats the last answer, while that is long and neither the version has changed nor `forget` was called. */
export type ListRead<T> = { read(signal: AbortSignal): Promise<List<T>>; forget(): void }

/** Returns a read of a list that may be called often. `version` is that of what the list shows. */
export const createListRead = <T>(
  read: (signal: AbortSignal) => Promise<List<T>>,
  version: () => string,
): ListRead<T> => {
  let last: { readonly items: List<T>; readonly version: string } | undefined
  return {
    read: async (signal) => {
      const present = version()
      if (last?.items.isLong && last.version === present) return last.items
      const items = await read(signal)
      last = { items, version: present }
      return items
    },
    forget: () => {
      last = undefined
    },
  }
}
