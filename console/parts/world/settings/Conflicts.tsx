import { formatCount } from '#console/state/format.ts'
import { conflictsOf } from '#console/state/settings/draft.ts'
import type { Version } from '#console/state/settings/version.ts'
import type { Editor } from '../../../live/editor.ts'
import { editStateId } from './EditBar.tsx'
import { Value } from './SettingTable.tsx'

/** Moves the focus to the next conflict, or to the line with the number of edits, before the row of the button is removed. */
const decide =
  (act: () => void) =>
  ({ currentTarget }: { readonly currentTarget: HTMLElement }): void => {
    const row = currentTarget.closest('tr')
    const next = row?.nextElementSibling ?? row?.previousElementSibling
    const target = next?.querySelector('button') ?? document.getElementById(editStateId)
    target?.focus()
    act()
  }

/** The edited settings that somebody else has changed meanwhile: theirs beside yours, and the decision. */
export const Conflicts = ({ editor, version }: { readonly editor: Editor; readonly version: Version }) => {
  const draft = editor.draft.value
  const conflicts = draft === undefined ? [] : conflictsOf(draft, version)
  if (draft === undefined || conflicts.length === 0) return null
  return (
    <section class="notice" aria-labelledby="conflicts-title">
      <h3 id="conflicts-title">Somebody else changed what you edit</h3>
      <p role="alert">
        Decide about {formatCount(conflicts.length, 'setting')}: theirs or yours. Then the edits can be saved.
      </p>
      <table class="settings">
        <thead>
          <tr>
            <th scope="col">Setting</th>
            <th scope="col">Before</th>
            <th scope="col">Theirs</th>
            <th scope="col">Yours</th>
            <th scope="col">Decision</th>
          </tr>
        </thead>
        <tbody>
          {conflicts.map((field) => (
            <tr key={field.id}>
              <th scope="row">{field.name}</th>
              {Object.entries({ Before: draft.base.texts, Theirs: version.texts, Yours: draft.texts }).map(
                ([column, texts]) => (
                  <td key={column} data-column={column}>
                    <Value field={field} text={texts[field.id] ?? ''} />
                  </td>
                ),
              )}
              <td>
                <span class="buttons">
                  <button
                    type="button"
                    aria-label={`Keep mine: ${field.name}`}
                    onClick={decide(() => editor.keep(field.id))}
                  >
                    Keep mine
                  </button>
                  <button
                    type="button"
                    aria-label={`Take theirs: ${field.name}`}
                    onClick={decide(() => editor.drop(field.id))}
                  >
                    Take theirs
                  </button>
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
