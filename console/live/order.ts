import { computed, effect, type ReadonlySignal, signal, untracked } from '@preact/signals'
import { parseFilter } from '#console/state/filter.ts'
import { type Arrangement, arrange, noOrder } from '#console/state/order.ts'
import type { Row } from '#console/state/row.ts'
import { parseSort } from '#console/state/sort.ts'
import { isLoaded, rows } from './fleet.ts'
import { place } from './location.ts'

/** The shortest time between two orders that follow from changes of worlds. Rows change in place meanwhile. */
const pauseMs = 200

// Each part of the place is a signal of its own, so that a change of another part computes nothing again.
const projectId = computed(() => place.value.projectId)
const filterText = computed(() => place.value.filter)
const sortText = computed(() => place.value.sort)

/** The worlds of the project of the present place, or of the whole organization. */
export const scoped: ReadonlySignal<ReadonlyMap<string, Row>> = computed(() => {
  const wanted = projectId.value
  if (wanted === '') return rows.value
  return new Map([...rows.value].filter(([, row]) => row.projectId === wanted))
})

/** The filter of the present place. */
export const filter = computed(() => parseFilter(filterText.value))
/** The order of the present place. */
export const sort = computed(() => parseSort(sortText.value))

const isTouched = signal(false)
const isSelecting = signal(false)
const isHeld = computed(() => isTouched.value || isSelecting.value)
const arranged = signal(noOrder)

/** The rows on screen, and the number of changes that wait because the user holds the rows. */
export const order: ReadonlySignal<Arrangement> = arranged

/** Keeps the rows where they are, or lets them move again, as the pointer and the keyboard enter and leave them. */
export const hold = (isTouchedNow: boolean): void => {
  isTouched.value = isTouchedNow
}

/** Keeps the rows where they are, or lets them move again, as the user selects some of them and none. */
export const holdSelected = (isSelectingNow: boolean): void => {
  isSelecting.value = isSelectingNow
}

/** True once all worlds are arranged. Until then rows move, wherever the pointer is. */
let isComplete = false

const arrangeNow = ({ isFresh }: { readonly isFresh: boolean }): void => {
  arranged.value = arrange({
    // The present order takes few comparisons to sort again.
    shown: arranged.peek().ids,
    rows: scoped.peek(),
    filter: filter.peek(),
    sort: sort.peek(),
    isHeld: !isFresh && isComplete && isHeld.peek(),
  })
  isComplete = isLoaded.peek()
}

/** Applies the changes that wait. */
export const sortAgain = (): void => arrangeNow({ isFresh: true })

/** Keeps the order up to date. Returns a function that ends it, and lets go of the rows. */
export const startOrder = (): (() => void) => {
  let timer: ReturnType<typeof setTimeout> | undefined
  const later = (): void => {
    timer = undefined
    arrangeNow({ isFresh: false })
  }
  const stopFilter = effect(() => {
    void [filter.value, sort.value, projectId.value]
    untracked(() => arrangeNow({ isFresh: true }))
  })
  const stopRows = effect(() => {
    void [scoped.value, isHeld.value, isLoaded.value]
    timer ??= setTimeout(later, untracked(() => arranged.value.ids.length) === 0 ? 0 : pauseMs)
  })
  return () => {
    clearTimeout(timer)
    isTouched.value = false
    arranged.value = noOrder
    stopFilter()
    stopRows()
  }
}
