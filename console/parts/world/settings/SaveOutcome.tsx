import { formatCount } from '#console/state/format.ts'
import { fields } from '#console/state/settings/fields.ts'
import type { RunSetting } from '#console/state/settings/run.ts'
import type { Editor } from '../../../live/editor.ts'
import { FailureNotice } from '../../FailureNotice.tsx'
import { Said } from '../../pieces.tsx'

/** The result of the last attempt to save, and what to do next. */
export const SaveOutcome = ({
  editor,
  run,
}: {
  readonly editor: Editor
  /** The settings of the present run. */
  readonly run: Readonly<Record<string, RunSetting>> | undefined
}) => {
  const outcome = editor.outcome.value
  const faulty = Object.keys(editor.faults.value).length
  return (
    <>
      <p role="status" class="save-outcome">
        {outcome?.kind === 'saved' && describeSaved(outcome.ids, run)}
      </p>
      {outcome?.kind === 'outdated' && (
        <p role="alert" class="notice">
          <strong>Nothing was saved: somebody else changed {namesOf(outcome.ids) || 'the world'} first.</strong> Their
          version is loaded, and the changes are marked. Look at them, then save again.
        </p>
      )}
      {outcome?.kind === 'failed' && <FailureNotice error={outcome.error} />}
      {outcome?.kind === 'failed' && outcome.others.length > 0 && (
        <ul class="setting-faults">
          {outcome.others.map(({ path, message }, index) => (
            <li key={`${index} ${path}`}>
              ▲ <Said text={`${path} ${message}`} />
            </li>
          ))}
        </ul>
      )}
      {faulty > 0 && (
        <p role="alert" class="notice">
          Nothing was saved. The {faulty === 1 ? 'fault stands' : 'faults stand'} beside{' '}
          {formatCount(faulty, 'setting')}.
        </p>
      )}
    </>
  )
}

const namesOf = (ids: readonly string[]): string =>
  fields.flatMap(({ id, name }) => (ids.includes(id) ? [name] : [])).join(', ')

const describeSaved = (ids: readonly string[], run: Readonly<Record<string, RunSetting>> = {}): string => {
  const later = ids.filter((id) => run[id]?.isPending === true)
  const text = `Saved: ${namesOf(ids)}.`
  return later.length > 0 ? `${text} Restart the world for: ${namesOf(later)}.` : text
}
