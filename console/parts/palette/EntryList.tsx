import { useLayoutEffect } from 'preact/hooks'
import type { Deed, Entry, EntryGroup } from '#console/state/palette.ts'
import { PhaseBadge } from '../PhaseBadge.tsx'
import { Said } from '../pieces.tsx'

/** The id of the list. */
export const listId = 'palette-list'
/** Returns the id of the element of an entry. */
export const optionId = ({ id }: Entry): string => `palette ${id}`.replaceAll(' ', '-')

/** The entries of the palette in groups. The field chooses by keyboard, so no entry takes the focus. */
export const EntryList = ({
  groups,
  present,
  onChoose,
}: {
  readonly groups: readonly EntryGroup[]
  readonly present: Entry | undefined
  readonly onChoose: (deed: Deed) => void
}) => {
  const presentId = present === undefined ? undefined : optionId(present)
  useLayoutEffect(() => {
    if (presentId !== undefined) document.getElementById(presentId)?.scrollIntoView({ block: 'nearest' })
  }, [presentId])
  return (
    // The field keeps the focus.
    <div
      id={listId}
      role="listbox"
      aria-label="Results"
      class="palette-list"
      onMouseDown={(event) => event.preventDefault()}
    >
      {groups.map(({ title, entries }) => (
        // biome-ignore lint/a11y/useSemanticElements: A fieldset is no part of a list box.
        <div key={title} role="group" aria-label={title}>
          <p aria-hidden="true" class="muted small">
            {title}
          </p>
          {entries.map((entry) => (
            <Option key={entry.id} entry={entry} isPresent={entry === present} onChoose={onChoose} />
          ))}
        </div>
      ))}
    </div>
  )
}

const Option = ({
  entry,
  isPresent,
  onChoose,
}: {
  readonly entry: Entry
  readonly isPresent: boolean
  readonly onChoose: (deed: Deed) => void
}) => {
  const { label, detail, phase, refusal, deed } = entry
  return (
    <button
      type="button"
      role="option"
      id={optionId(entry)}
      tabIndex={-1}
      aria-selected={isPresent}
      aria-disabled={refusal !== undefined}
      onClick={() => {
        if (refusal === undefined) onChoose(deed)
      }}
    >
      <span class="palette-label">
        <Said text={label} />
      </span>
      {phase !== undefined && <PhaseBadge phase={phase} />}
      {detail !== undefined && (
        <span class="palette-detail muted small">
          <Said text={detail} />
        </span>
      )}
      {refusal !== undefined && (
        <span class="palette-refusal small">
          <Said text={refusal} />
        </span>
      )}
    </button>
  )
}
