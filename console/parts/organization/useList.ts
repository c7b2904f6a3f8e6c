import type { ReadonlySignal } from '@preact/signals'
import { useState } from 'preact/hooks'
import type { Loader } from '../../live/loader.ts'
import { unversioned } from '../../live/organization.ts'
import { createListRead, type List } from '../../live/readAll.ts'
import { useLoader } from '../useLoader.ts'

/** Returns a loader of a list. One that has more than one page is read again only with its version or by `load`. */
export const useList = <T>(
  read: (signal: AbortSignal) => Promise<List<T>>,
  version: ReadonlySignal<string> = unversioned,
): Pick<Loader<List<T>>, 'slot' | 'load'> => {
  const [list] = useState(() => createListRead(read, () => version.peek()))
  const { slot, load } = useLoader(list.read, version)
  return {
    slot,
    load: () => {
      list.forget()
      load()
    },
  }
}
