// Elements of a table cannot be positioned one by one, as a virtual list needs, and rows of a table take no focus.
// biome-ignore-all lint/a11y/useSemanticElements: see above.
// biome-ignore-all lint/a11y/useFocusableInteractive: see above.
import { useComputed } from '@preact/signals'
import type { Row } from '#console/state/row.ts'
import { toVisible } from '#console/state/visible.ts'
import { order } from '../../live/order.ts'
import {
  addSelected,
  clearSelection,
  isSelected,
  selectAllShown,
  selection,
  toggleSelected,
} from '../../live/selection.ts'

/** The id of the actions on the selection. */
export const selectionActionsId = 'selection-actions'

/** The checkbox of a row. Shift selects a range, the arrow keys lead from row to row, and Enter leads to the actions. */
export const SelectWorld = ({ row: { id, name } }: { readonly row: Row }) => {
  const isChecked = useComputed(() => isSelected(id))
  return (
    <div role="cell" class="cell-select">
      <label onMouseDown={(event) => event.shiftKey && event.preventDefault()}>
        <input
          type="checkbox"
          aria-label={`Select ${toVisible(name)}`}
          checked={isChecked.value}
          data-world={id}
          onClick={({ shiftKey }) => toggleSelected(id, { isRange: shiftKey })}
          onKeyDown={onKeyDown}
        />
      </label>
    </div>
  )
}

const onKeyDown = (event: KeyboardEvent): void => {
  const { key, shiftKey, currentTarget } = event
  const isArrow = key === 'ArrowDown' || key === 'ArrowUp'
  if (!(currentTarget instanceof HTMLInputElement) || (!isArrow && key !== 'Enter')) return
  // The press of Enter would click the button that gets the focus.
  event.preventDefault()
  const target = isArrow
    ? nextBox(currentTarget, key === 'ArrowDown' ? 'nextElementSibling' : 'previousElementSibling')
    : document.querySelector<HTMLElement>(`#${selectionActionsId} button:not([aria-disabled="true"])`)
  target?.focus()
  if (isArrow && shiftKey && target) addSelected(currentTarget.dataset.world ?? '', target.dataset.world ?? '')
}

/** Returns the checkbox of the next row that has one: that of a deleted world has none. */
const nextBox = (
  box: HTMLElement,
  direction: 'nextElementSibling' | 'previousElementSibling',
): HTMLInputElement | undefined => {
  let row = box.closest('[role="row"]')?.[direction]
  while (row) {
    const found = row.querySelector<HTMLInputElement>('[data-world]')
    if (found !== null) return found
    row = row[direction]
  }
  return undefined
}

/** The checkbox in the head of the table: all worlds that the filter selects, or none. */
export const SelectAll = () => {
  const count = selection.value.length
  const isAll = count === order.value.ids.length
  return (
    <div role="columnheader" class="cell-select">
      <label>
        <input
          type="checkbox"
          aria-label="Select all that match"
          checked={isAll}
          indeterminate={count > 0 && !isAll}
          onClick={isAll ? clearSelection : selectAllShown}
        />
      </label>
    </div>
  )
}
