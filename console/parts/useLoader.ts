import type { ReadonlySignal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import { createLoader, type Loader, loadOnChange } from '../live/loader.ts'

/** Returns a loader that loads while the component is mounted, and again when the version changes. */
export const useLoader = <T>(read: (signal: AbortSignal) => Promise<T>, version: ReadonlySignal<string>): Loader<T> => {
  const [loader] = useState(() => createLoader(read))
  useEffect(() => loadOnChange(loader, version), [loader, version])
  return loader
}
