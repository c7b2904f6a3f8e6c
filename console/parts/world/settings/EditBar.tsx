import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { formatCount } from '#console/state/format.ts'
import { conflictsOf, editedFields } from '#console/state/settings/draft.ts'
import type { Version } from '#console/state/settings/version.ts'
import type { Editor } from '../../../live/editor.ts'
import { Review } from './Review.tsx'

type Props = {
  readonly editor: Editor
  readonly version: Version
  readonly isEditing: boolean
  /** The reason why the settings cannot be edited. */
  readonly refusal: string | undefined
  /** Opens and closes the inputs. */
  readonly onOpen: (isOpen: boolean) => void
}

/** The id of the line that says how many edits there are. It takes the focus of a decision that leaves none. */
export const editStateId = 'edit-state'
const editButtonId = 'edit-settings'

/** Moves the focus when the button that had it is gone: to the first input, or to the button that opens the inputs. */
const useFocus = (isEditing: boolean): void => {
  const before = useRef(isEditing)
  useEffect(() => {
    const isChanged = before.current !== isEditing
    before.current = isEditing
    if (!isChanged || document.activeElement !== document.body) return
    const inputs = '.settings :is(input, select, textarea)'
    document.querySelector<HTMLElement>(isEditing ? inputs : `#${editButtonId}`)?.focus()
  }, [isEditing])
}

/** The buttons that begin, review and discard the edits. It stays in view. */
export const EditBar = ({ editor, version, isEditing, refusal, onOpen }: Props) => {
  const isReviewing = useSignal(false)
  const draft = editor.draft.value
  const count = draft === undefined ? 0 : editedFields(draft).length
  const conflicts = draft === undefined ? 0 : conflictsOf(draft, version).length
  useFocus(isEditing)
  const isSaving = editor.isSaving.value
  const isReady = count > 0 && conflicts === 0 && !isSaving
  if (!isEditing) {
    return (
      <div class="edit-bar">
        <button
          type="button"
          id={editButtonId}
          aria-disabled={refusal !== undefined}
          aria-describedby={refusal === undefined ? undefined : 'edit-refusal'}
          onClick={() => refusal === undefined && onOpen(true)}
        >
          Edit the settings
        </button>
        {refusal !== undefined && (
          <span id="edit-refusal" class="muted small">
            {refusal}.
          </span>
        )}
      </div>
    )
  }
  return (
    <div class="edit-bar is-open">
      {/* biome-ignore lint/a11y/useSemanticElements: A fieldset groups the fields of a form. */}
      <div role="group" aria-label="Edits" class="buttons">
        <button
          type="button"
          class={isReady ? 'primary' : ''}
          aria-disabled={!isReady}
          aria-describedby={editStateId}
          onClick={() => {
            isReviewing.value = isReady
          }}
        >
          Review and save
        </button>
        <button
          type="button"
          aria-disabled={isSaving}
          onClick={() => {
            if (isSaving) return
            editor.discard()
            onOpen(false)
          }}
        >
          {count === 0 ? 'End editing' : 'Discard'}
        </button>
      </div>
      <span id={editStateId} tabIndex={-1} role="status" class="muted">
        {isSaving
          ? 'Saving…'
          : conflicts > 0
            ? `First decide about ${formatCount(conflicts, 'setting')}`
            : formatCount(count, 'change')}
      </span>
      {isReviewing.value && draft !== undefined && (
        <Review
          editor={editor}
          draft={draft}
          onClose={() => {
            isReviewing.value = false
          }}
        />
      )}
    </div>
  )
}
