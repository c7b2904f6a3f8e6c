import { effect, type ReadonlySignal, signal } from '@preact/signals'
import { delayOfLoad, emptySlot, mayBeNewer, type Slot, toFault, withFault } from '#console/state/worldLoad.ts'

/** A part of the page that can be loaded again. */
export type Loader<T> = {
  readonly slot: ReadonlySignal<Slot<T>>
  /** Loads once more: now, or when the present load, the pace and the visibility of the tab permit. */
  load(): void
  close(): void
}

/**
 * Creates a loader. From the first call of `load` on, it also loads again by itself. At most one load runs at a time, so an older
 * answer never replaces a newer one; at most one starts a second; and none starts while the tab is hidden.
 */
export const createLoader = <T>(read: (signal: AbortSignal) => Promise<T>): Loader<T> => {
  const slot = signal<Slot<T>>(emptySlot)
  const ended = new AbortController()
  let isWanted = false
  let isLoading = false
  let startedAtMs = Number.NEGATIVE_INFINITY
  let permittedAtMs = startedAtMs
  let timer: ReturnType<typeof setTimeout> | undefined

  const start = async (): Promise<void> => {
    isWanted = false
    isLoading = true
    startedAtMs = Date.now()
    slot.value = { ...slot.peek(), isLoading: true }
    try {
      const value = await read(ended.signal)
      if (!ended.signal.aborted) slot.value = { value, isLoading: false }
    } catch (error) {
      const fault = toFault(error)
      permittedAtMs = Date.now() + (fault.waitSeconds ?? 0) * 1_000
      if (!ended.signal.aborted) slot.value = withFault(slot.peek(), fault)
    }
    isLoading = false
    plan()
  }
  const plan = (): void => {
    clearTimeout(timer)
    if (ended.signal.aborted) return
    const times = { startedAtMs, permittedAtMs, nowMs: Date.now() }
    const delayMs = delayOfLoad({ isWanted, isLoading, isHidden: document.hidden, ...times })
    if (delayMs !== undefined) timer = setTimeout(() => void start(), delayMs)
  }
  return {
    slot,
    load: () => {
      // Adding the same listener again has no effect.
      document.addEventListener('visibilitychange', plan, { signal: ended.signal })
      isWanted = true
      plan()
    },
    close: () => {
      ended.abort()
      clearTimeout(timer)
    },
  }
}

/**
 * Runs the loader now and whenever the version changes, but not when the feed drops the world: there is nothing to load, and the last
 * state stays. The first version that the feed shows later is not loaded again if it is old. Returns a function that ends both.
 */
export const loadOnChange = (loader: Loader<unknown>, version: ReadonlySignal<string>): (() => void) => {
  const readAtMs = Date.now()
  let last: string | undefined
  const stop = effect(() => {
    const next = version.value
    if (last === undefined || (last === '' ? mayBeNewer(next, { readAtMs }) : next !== '')) loader.load()
    last = next
  })
  return () => {
    stop()
    loader.close()
  }
}
