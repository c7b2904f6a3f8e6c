import type { ComponentChildren } from 'preact'
import { type ActionKind, actions, explainNoUndo, nameEdit, offersIn, restoredState } from '#console/state/actions.ts'
import { commandKinds, valueIn } from '#console/state/commands.ts'
import { refusalOf } from '#console/state/rights.ts'
import { hrefOf } from '../../live/location.ts'
import { advised as advisedSetting } from '../../live/settings.ts'
import type { Why } from '../../live/world.ts'
import { FailureNotice } from '../FailureNotice.tsx'
import { CommandList } from './CommandList.tsx'
import type { PageState } from './page.ts'

const refusalFor = (kind: ActionKind, page: PageState): string | undefined =>
  refusalOf(page.credential, actions[kind].operationId, page)

/** The note on an action: the missing permission, or that the deletion could not be undone. */
const noteOn = (kind: ActionKind, page: PageState): string | undefined => {
  const refusal = refusalFor(kind, page)
  const noUndo = kind === 'delete' ? refusalFor('restore', page) : undefined
  return refusal ?? (noUndo === undefined ? undefined : explainNoUndo(noUndo))
}

/**
 * The edits that the explanation advises and the actions that the phase of the world permits, as buttons and as commands. The next step is
 * marked. `children` stand below the buttons.
 */
export const ActionBar = ({
  page,
  why,
  children,
}: {
  readonly page: PageState
  readonly why: Why | undefined
  readonly children: ComponentChildren
}) => {
  const { actions: advice = [], reason = '', remedy = '' } = why ?? {}
  const phase = page.phase()
  if (phase === undefined) return null
  const offers = offersIn(
    phase,
    advice.map(({ kind }) => kind),
  ).map((offer) => ({ ...offer, note: noteOn(offer.kind, page) }))
  const edits = advice.flatMap(({ kind, field = '' }) =>
    kind === 'edit' ? [{ field, value: valueIn(remedy, field) }] : [],
  )
  const notes = [...new Set(offers.flatMap(({ note }) => note ?? []))]
  return (
    <div class="action-bar">
      {/* biome-ignore lint/a11y/useSemanticElements: A fieldset groups the fields of a form. */}
      <div role="group" aria-label="Actions" class="buttons">
        {edits.map(({ field }, index) => (
          <EditLink key={field} page={page} field={field} name={nameEdit(field, reason)} isFirst={index === 0} />
        ))}
        {offers.map(({ kind, isAdvised, note }) => (
          <ActionButton
            key={kind}
            kind={kind}
            page={page}
            isAdvised={isAdvised}
            noteId={note === undefined ? undefined : noteId(notes.indexOf(note))}
          />
        ))}
      </div>
      {notes.map((note, index) => (
        <p key={note} id={noteId(index)} class="muted small">
          {note}.
        </p>
      ))}
      {children}
      <CommandList
        title="Commands for these actions"
        edits={edits}
        kinds={commandKinds.filter((each) => offers.some(({ kind }) => kind === each))}
        page={page}
      />
    </div>
  )
}

/** Leads to the setting in the tab of the settings, which says the permission that an edit lacks. */
const EditLink = ({
  page,
  field,
  name,
  isFirst,
}: {
  readonly page: PageState
  readonly field: string
  readonly name: string
  readonly isFirst: boolean
}) => (
  <a
    class={`button ${isFirst && refusalOf(page.credential, 'patchWorld', page) === undefined ? 'primary' : ''}`}
    href={hrefOf({ tab: 'settings', run: '' })}
    onClick={({ ctrlKey, metaKey, shiftKey, altKey }) => {
      // Other clicks open another tab.
      if (!(ctrlKey || metaKey || shiftKey || altKey)) advisedSetting.value = { worldId: page.worldId, field }
    }}
  >
    {name}
  </a>
)

const noteId = (index: number): string => `action-note-${index}`

/** A button that stays in the order of the keyboard when it is disabled, so that its note can be read. */
const ActionButton = ({
  kind,
  page,
  isAdvised,
  noteId,
}: {
  readonly kind: ActionKind
  readonly page: PageState
  readonly isAdvised: boolean
  readonly noteId?: string | undefined
}) => {
  const { pending, run } = page.actions
  const isDisabled = pending.value !== undefined || refusalFor(kind, page) !== undefined
  return (
    <button
      type="button"
      class={isAdvised ? 'primary' : ''}
      aria-disabled={isDisabled}
      aria-busy={pending.value === kind}
      aria-describedby={noteId}
      onClick={() => {
        if (!isDisabled) run(kind)
      }}
    >
      {actions[kind].label}
    </button>
  )
}

/** The progress of an action after its click, until the page shows the effect, and the reason why it failed. */
export const Outcome = ({ page }: { readonly page: PageState }) => {
  const kind = page.actions.pending.value
  const failed = page.actions.failure.value
  return (
    <>
      <p role="status" class="muted">
        {kind !== undefined && `${actions[kind].progress}…`}
      </p>
      {failed !== undefined && (
        <section aria-label={`${actions[failed.kind].label} failed`}>
          <FailureNotice error={failed.error} />
        </section>
      )}
    </>
  )
}

/** Says that the world is deleted, and restores it on a click. */
export const Deleted = ({ page }: { readonly page: PageState }) => {
  const note = noteOn('restore', page)
  return (
    <div role="alert" class="notice">
      <p>
        <strong>This world was deleted.</strong> What is shown is its last known state.
      </p>
      <p id="restored">{note === undefined ? restoredState : `${note}.`}</p>
      <ActionButton kind="restore" page={page} isAdvised={false} noteId="restored" />
      <Outcome page={page} />
    </div>
  )
}
