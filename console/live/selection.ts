import { computed, effect, type ReadonlySignal, signal } from '@preact/signals'
import { noOrder } from '#console/state/order.ts'
import { describeSelection, emptySelection, keep, type Selection, selectAll, toggle } from '#console/state/selection.ts'
import { rows } from './fleet.ts'
import { holdSelected, order, sortAgain } from './order.ts'

const selected = signal(emptySelection)
const shown = computed(() => order.value.ids)
const onScreen = computed(() => new Set(shown.value))
const said = signal('')

/**
 * The selected worlds, in the order on screen. All of them are on screen: a world that leaves it, by another filter, project or
 * organization or by its deletion, leaves the selection. Another page on screen keeps it.
 */
export const selection: ReadonlySignal<readonly string[]> = computed(() => {
  const { ids } = selected.value
  return ids.size === 0 ? [] : shown.value.filter((id) => ids.has(id))
})

/** The text to read out: the number of selected worlds after the last change by the user. Deletions by others do not change it. */
export const announced: ReadonlySignal<string> = said

const select = (next: Selection): void => {
  selected.value = next
  said.value = describeSelection(next.ids.size)
}

/** Reports whether a world is selected. */
export const isSelected = (id: string): boolean => selected.value.ids.has(id)

/** Selects a world, or clears it. With `isRange` also those from the last click to this one. */
export const toggleSelected = (id: string, { isRange = false } = {}): void => {
  const ids = isRange ? shown.peek().filter((each) => rows.peek().has(each)) : []
  select(toggle(selected.peek(), id, { shown: ids, isRange }))
}

/** Selects worlds beside those that are selected. The last one is that at which a range begins. */
export const addSelected = (...ids: readonly string[]): void =>
  select({ ids: new Set([...selected.peek().ids, ...ids]), anchor: ids.at(-1) ?? '' })

/** Selects the worlds that the filter selects now. Changes that wait are applied first, so that exactly these are on screen. */
export const selectAllShown = (): void => {
  sortAgain()
  select(selectAll(shown.peek()))
}

/** Clears the selection. */
export const clearSelection = (): void => select(emptySelection)

effect(() => {
  const present = rows.value
  const isOpen = order.value !== noOrder
  selected.value = keep(selected.peek(), (id) => present.has(id) && (!isOpen || onScreen.value.has(id)))
})
effect(() => holdSelected(selected.value.ids.size > 0))
