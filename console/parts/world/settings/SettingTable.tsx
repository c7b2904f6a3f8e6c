import { changedByOthers, conflictsOf } from '#console/state/settings/draft.ts'
import type { Field } from '#console/state/settings/fields.ts'
import { type Kind, showText } from '#console/state/settings/forms.ts'
import type { RunSetting } from '#console/state/settings/run.ts'
import type { Version } from '#console/state/settings/version.ts'
import type { Editor } from '../../../live/editor.ts'
import { Said } from '../../pieces.tsx'
import { FieldInput, inputId } from './FieldInput.tsx'

/** The text of a setting, for reading. */
export const Value = ({ field, text }: { readonly field: Field; readonly text: string }) => (
  <Shown kind={field.kind} text={showText(field.kind, text)} />
)

const Shown = ({ kind, text }: { readonly kind: Kind; readonly text: string }) =>
  text === '' ? (
    <span class="muted">None</span>
  ) : (
    <span class={`setting-value ${['json', 'pairs', 'lines', 'cron'].includes(kind) ? 'mono' : ''}`}>
      <Said text={text} />
    </span>
  )

type Props = {
  readonly title: string
  readonly fields: readonly Field[]
  readonly editor: Editor
  readonly version: Version
  /** The settings of the present run. Undefined if the table has no column for them. */
  readonly run?: Readonly<Record<string, RunSetting>> | undefined
  readonly isEditing: boolean
}

/** A table of settings: with those of the run if there is one, and those of the world, as text or as inputs. */
export const SettingTable = ({ title, fields, run, ...rest }: Props) => (
  <table class="settings">
    <caption>{title}</caption>
    <thead>
      <tr>
        <th scope="col">Setting</th>
        {run !== undefined && <th scope="col">Runs now</th>}
        <th scope="col">{run === undefined ? 'Value' : 'At the next start'}</th>
      </tr>
    </thead>
    <tbody>
      {fields.map((field) => (
        <Row key={field.id} field={field} run={run?.[field.id]} {...rest} />
      ))}
    </tbody>
  </table>
)

const Row = ({
  field,
  editor,
  version,
  run,
  isEditing,
}: Omit<Props, 'title' | 'fields' | 'run'> & { readonly field: Field; readonly run: RunSetting | undefined }) => {
  const { id, name } = field
  const draft = editor.draft.value
  const mine = draft?.texts[id]
  return (
    <tr id={`row-${id}`} class={mine === undefined ? '' : 'is-edited'}>
      <th scope="row">
        {isEditing ? <label for={inputId(id)}>{name}</label> : name}
        <code class="setting-path muted small">{id}</code>
      </th>
      {run !== undefined && (
        <td data-column="Runs now">
          {run.text === undefined ? (
            <span class="muted">Another value</span>
          ) : (
            <Shown kind={field.kind} text={run.text} />
          )}
        </td>
      )}
      <td data-column={run === undefined ? undefined : 'At the next start'}>
        {isEditing ? (
          <Input field={field} editor={editor} text={mine ?? version.texts[id] ?? ''} />
        ) : (
          <Value field={field} text={version.texts[id] ?? ''} />
        )}
        {run?.isPending === true && <p class="setting-mark is-pending">◆ Changed: acts at the next start</p>}
        {mine !== undefined && draft !== undefined && (
          <p class="setting-mark">
            ✎ Not saved. Before: <Value field={field} text={draft.base.texts[id] ?? ''} />{' '}
            <button
              type="button"
              class="copy"
              aria-label={`Undo the edit of ${name}`}
              onClick={() => {
                // The button is removed.
                document.getElementById(inputId(id))?.focus()
                editor.drop(id)
              }}
            >
              Undo
            </button>
          </p>
        )}
        <OthersMark field={field} editor={editor} version={version} />
      </td>
    </tr>
  )
}

/** Says that somebody else has changed the setting since the first edit. */
const OthersMark = ({
  field,
  editor,
  version,
}: {
  readonly field: Field
  readonly editor: Editor
  readonly version: Version
}) => {
  const draft = editor.draft.value
  if (draft === undefined) return null
  if (conflictsOf(draft, version).includes(field)) {
    return <p class="setting-mark is-pending">▲ Somebody else changed it too. Decide above.</p>
  }
  if (!changedByOthers(draft, version).includes(field)) return null
  return (
    <p class="setting-mark is-pending">
      ▲ Somebody else changed it since you began. Before:{' '}
      <Value field={field} text={draft.began.texts[field.id] ?? ''} />
    </p>
  )
}

const Input = ({ field, editor, text }: { readonly field: Field; readonly editor: Editor; readonly text: string }) => {
  const { id, hint } = field
  const faults = editor.faults.value[id] ?? []
  const [hintId, faultId] = [`hint-${id}`, `fault-${id}`]
  return (
    <>
      <FieldInput
        field={field}
        text={text}
        isInvalid={faults.length > 0}
        describedBy={[...(hint === undefined ? [] : [hintId]), ...(faults.length > 0 ? [faultId] : [])].join(' ')}
        onText={(next) => editor.edit(id, next)}
      />
      {hint !== undefined && (
        <p id={hintId} class="muted small">
          {hint}
        </p>
      )}
      {faults.length > 0 && (
        <ul id={faultId} class="setting-faults">
          {faults.map((fault, index) => (
            <li key={`${index} ${fault}`}>
              ▲ <Said text={fault} />
            </li>
          ))}
        </ul>
      )}
    </>
  )
}
