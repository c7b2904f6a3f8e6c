import { useState } from 'preact/hooks'
import type { Loader } from '../../live/loader.ts'
import { unversioned } from '../../live/organization.ts'
import { useLoader } from '../useLoader.ts'

/** A value that was read at a time, in milliseconds since 1970. */
export type Read<T> = { readonly value: T; readonly atMs: number }

/**
 * Returns a loader of what no feed shows. It reads while the tab is visible, and at once by `load`. A value that `isLong` is read again
 * by `load` alone.
 */
export const useReading = <T>(
  read: (signal: AbortSignal) => Promise<T>,
  isLong: (value: T) => boolean = () => false,
): Pick<Loader<Read<T>>, 'slot' | 'load'> => {
  const [kept] = useState<{ last: Read<T> | undefined }>({ last: undefined })
  const { slot, load } = useLoader(async (signal) => {
    if (kept.last !== undefined && isLong(kept.last.value)) return kept.last
    kept.last = { value: await read(signal), atMs: Date.now() }
    return kept.last
  }, unversioned)
  return {
    slot,
    load: () => {
      kept.last = undefined
      load()
    },
  }
}
