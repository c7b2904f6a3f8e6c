import { formatCount } from './format.ts'

/** Worlds that the user has selected, and the one that was clicked last, at which a range begins. It may be ''. */
export type Selection = { readonly ids: ReadonlySet<string>; readonly anchor: string }

/** The selection without a world. */
export const emptySelection: Selection = { ids: new Set(), anchor: '' }

/**
 * Returns the selection after a click on a world, which selects it, or clears it if it is selected. With `isRange` the worlds of `shown`
 * from the last click to this one become as the clicked one. If the last one is not shown, only the clicked one changes.
 */
export const toggle = (
  { ids, anchor }: Selection,
  id: string,
  { shown, isRange }: { readonly shown: readonly string[]; readonly isRange: boolean },
): Selection => {
  const next = new Set(ids)
  const isSelected = !ids.has(id)
  for (const each of isRange ? between(anchor, id, shown) : [id]) {
    if (isSelected) next.add(each)
    else next.delete(each)
  }
  return { ids: next, anchor: id }
}

const between = (anchor: string, id: string, shown: readonly string[]): readonly string[] => {
  const [from, to] = [shown.indexOf(anchor), shown.indexOf(id)]
  return from < 0 || to < 0 ? [id] : shown.slice(Math.min(from, to), Math.max(from, to) + 1)
}

/** Returns the selection of all worlds that are shown. */
export const selectAll = (shown: readonly string[]): Selection => ({ ids: new Set(shown), anchor: '' })

/** Returns the selection of the worlds that are kept. It is the same object if all are. */
export const keep = (selection: Selection, isKept: (id: string) => boolean): Selection => {
  const ids = [...selection.ids].filter(isKept)
  return ids.length === selection.ids.size ? selection : { ids: new Set(ids), anchor: selection.anchor }
}

/** Returns the number of selected worlds, as a text. */
export const describeSelection = (count: number): string => `${formatCount(count)} selected`
