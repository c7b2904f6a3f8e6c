import { computed, effect, type ReadonlySignal, signal, untracked } from '@preact/signals'
import { type Launch, toLaunch } from '#console/state/launch/launch.ts'
import { parseSince, type Since } from '#console/state/launch/since.ts'
import { isLoaded, now } from './fleet.ts'
import { place } from './location.ts'
import { filter, scoped } from './order.ts'

/** The shortest time between two computations that follow from changes of worlds or of the time. */
const pauseMs = 500

const sinceText = computed(() => place.value.since)
const projectId = computed(() => place.value.projectId)

type Shown = Launch & { readonly since: Since; readonly isComplete: boolean }
const computedNow = signal<Shown | undefined>(undefined)

/**
 * The launch of the present place, the time from which on it counts runs, and whether it has all worlds. Undefined while no page follows
 * it.
 */
export const launch: ReadonlySignal<Shown | undefined> = computedNow

const compute = (): void => {
  const nowMs = Date.now()
  const since = parseSince(sinceText.peek(), nowMs)
  const rows = scoped.peek().values()
  const progress = toLaunch({ rows, filter: filter.peek(), fromMs: since.fromMs, nowMs })
  computedNow.value = { ...progress, since, isComplete: isLoaded.peek() }
}

/** Keeps the launch up to date: at once when the place changes, else at most twice a second. Returns a function that ends it. */
export const startLaunch = (): (() => void) => {
  let timer: ReturnType<typeof setTimeout> | undefined
  const stopPlace = effect(() => {
    void [filter.value, sinceText.value, projectId.value]
    untracked(compute)
  })
  const stopRows = effect(() => {
    void [scoped.value, now.value, isLoaded.value]
    timer ??= setTimeout(() => {
      timer = undefined
      compute()
    }, pauseMs)
  })
  return () => {
    clearTimeout(timer)
    stopPlace()
    stopRows()
    computedNow.value = undefined
  }
}
