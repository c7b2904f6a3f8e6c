import { useEffect, useRef } from 'preact/hooks'
import type { PatchWorld } from '#client/operations.ts'
import { formatCount } from '#console/state/format.ts'
import { type Acts, actsOf } from '#console/state/settings/acts.ts'
import { patchCommands } from '#console/state/settings/command.ts'
import { type Draft, editedFields, followsProfile } from '#console/state/settings/draft.ts'
import type { Field } from '#console/state/settings/fields.ts'
import { patchOf, removedWith } from '#console/state/settings/patch.ts'
import { hasRun } from '#console/state/settings/run.ts'
import type { Editor } from '../../../live/editor.ts'
import { now } from '../../../live/fleet.ts'
import { CommandTexts } from '../../CommandTexts.tsx'
import { Value } from './SettingTable.tsx'

/** The dialog that shows what a save changes and when it acts, and saves. It ends with the answer. */
export const Review = ({
  editor,
  draft,
  onClose,
}: {
  readonly editor: Editor
  readonly draft: Draft
  readonly onClose: () => void
}) => {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    const opener = document.activeElement
    dialog.current?.showModal()
    // The element may be removed while it is open, so the browser does not return the focus.
    return () => {
      onClose()
      const next = document.querySelector('.settings [aria-invalid="true"]') ?? opener
      if (next instanceof HTMLElement) next.focus()
    }
  }, [])
  const edited = editedFields(draft)
  const isFollowing = draft.texts['networking.scaling.profile'] !== undefined && followsProfile(draft)
  const isSaving = editor.isSaving.value
  const made = patchOf(draft)
  const removed = 'patch' in made ? removedWith(draft, made.patch) : []
  const later = edited.filter(({ pendingWord }) => pendingWord !== undefined)
  return (
    <dialog ref={dialog} class="review" aria-labelledby="review-title" onClose={onClose}>
      <h2 id="review-title">Save {formatCount(edited.length, 'change')}?</h2>
      <table class="settings">
        <thead>
          <tr>
            <th scope="col">Setting</th>
            <th scope="col">Before</th>
            <th scope="col">After</th>
            <th scope="col">Acts</th>
          </tr>
        </thead>
        <tbody>
          {edited.map((field) => {
            const after = draft.texts[field.id] ?? ''
            const acts = actsOf(field, draft.base, after, now.value)
            const note = isFollowing && field.id === 'admission.capacity' ? 'Follows the profile' : ''
            return <Change key={field.id} {...{ field, draft, after, acts, note }} />
          })}
          {removed.map((field) => {
            const acts = { text: 'At once', isWarning: false }
            return (
              <Change
                key={field.id}
                {...{ field, draft, acts }}
                after=""
                note="Removed with the times of the schedule"
              />
            )
          })}
        </tbody>
      </table>
      {later.length > 0 && hasRun(draft.base.world) && (
        <p>
          ◆ The world runs with its old {later.map(({ name }) => name.toLowerCase()).join(', ')} until it is restarted.
          A save does not restart it.
        </p>
      )}
      {'patch' in made && <Commands draft={draft} patch={made.patch} />}
      <div class="buttons">
        <button
          type="button"
          class="primary"
          aria-disabled={isSaving}
          aria-busy={isSaving}
          onClick={() => {
            if (!isSaving) void editor.save().then(() => dialog.current?.close())
          }}
        >
          {isSaving ? 'Saving…' : `Save ${formatCount(edited.length, 'change')}`}
        </button>
        <button type="button" onClick={() => dialog.current?.close()}>
          Back
        </button>
      </div>
    </dialog>
  )
}

type ChangeProps = {
  readonly field: Field
  readonly draft: Draft
  readonly after: string
  readonly acts: Acts
  readonly note: string
}

/** A setting before and after the save, and when the change acts. */
const Change = ({ field, draft, after, acts, note }: ChangeProps) => (
  <tr>
    <th scope="row">{field.name}</th>
    <td data-column="Before">
      <Value field={field} text={draft.base.texts[field.id] ?? ''} />
    </td>
    <td data-column="After">
      <Value field={field} text={after} />
      {note !== '' && <p class="muted small">{note}</p>}
    </td>
    <td data-column="Acts">
      <When acts={acts} />
    </td>
  </tr>
)

const When = ({ acts: { text, isWarning } }: { readonly acts: Acts }) =>
  isWarning ? <strong class="setting-warning">▲ {text}</strong> : text

const Commands = ({ draft: { base }, patch }: { readonly draft: Draft; readonly patch: PatchWorld }) => (
  <CommandTexts
    title="The same as commands"
    commands={Object.entries(patchCommands(base.world, patch, base.etag)).map(([language, text]) => ({
      title: `Edit with ${language}${language === 'kubectl' ? ', by hand' : ''}`,
      name: `the edit with ${language}`,
      text,
    }))}
  />
)
