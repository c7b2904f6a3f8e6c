import { useSignal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import type { WorldDeployment } from '#client/operations.ts'
import { refusalOf } from '#console/state/rights.ts'
import { editedFields } from '#console/state/settings/draft.ts'
import { fieldOfAdvice, liveFields, runFields, scheduleFields } from '#console/state/settings/fields.ts'
import { runSettingsOf } from '#console/state/settings/run.ts'
import type { Version } from '#console/state/settings/version.ts'
import type { Editor } from '../../live/editor.ts'
import { advised, editorOf } from '../../live/settings.ts'
import { FaultNotice } from '../FailureNotice.tsx'
import { useLoader } from '../useLoader.ts'
import type { PageState } from './page.ts'
import { Conflicts } from './settings/Conflicts.tsx'
import { EditBar } from './settings/EditBar.tsx'
import { inputId } from './settings/FieldInput.tsx'
import { ReadOnly } from './settings/ReadOnly.tsx'
import { SaveOutcome } from './settings/SaveOutcome.tsx'
import { SettingTable, Value } from './settings/SettingTable.tsx'
import './settings/settings.css'

/** The settings of a world: those of its present run beside those that act at its next start. */
export const Settings = ({ page }: { readonly page: PageState }) => {
  const [editor] = useState(() => editorOf(page.credential, page))
  return editor === undefined ? null : <Panel page={page} editor={editor} />
}

const Panel = ({ page, editor }: { readonly page: PageState; readonly editor: Editor }) => {
  const { slot, load } = useLoader(editor.read, page.version)
  const version = editor.latest.value
  const { fault, value } = slot.value
  const isDeleted = page.existence.value === 'deleted'
  return (
    <>
      {fault !== undefined && !isDeleted && <FaultNotice what="The settings" fault={fault} onRetry={load} />}
      {version === undefined && fault === undefined && <p class="muted">Loading…</p>}
      {version !== undefined && (
        <Content
          editor={editor}
          version={version}
          deployment={value?.run}
          worldId={page.worldId}
          isDeleted={isDeleted}
          refusal={isDeleted ? 'The world was deleted' : refusalOf(page.credential, 'patchWorld', page)}
        />
      )}
    </>
  )
}

const Content = ({
  editor,
  version,
  deployment,
  worldId,
  isDeleted,
  refusal,
}: {
  readonly editor: Editor
  readonly worldId: string
  readonly isDeleted: boolean
  readonly version: Version
  readonly deployment: WorldDeployment | undefined
  readonly refusal: string | undefined
}) => {
  const isOpen = useSignal(editor.draft.value !== undefined)
  const isEditing = refusal === undefined && (isOpen.value || editor.draft.value !== undefined)
  const wanted = advised.value?.worldId === worldId ? advised.value.field : undefined
  useEffect(() => {
    if (wanted !== undefined) isOpen.value = true
    else advised.value = undefined
  }, [wanted])
  useEffect(() => {
    const field = fieldOfAdvice(wanted ?? '')
    if (field === undefined || (refusal === undefined && !isEditing)) return
    document.getElementById(`row-${field.id}`)?.scrollIntoView({ block: 'center' })
    document.getElementById(inputId(field.id))?.focus({ preventScroll: true })
    advised.value = undefined
  }, [wanted, isEditing, refusal])
  const shared = { editor, version, isEditing }
  const run = runSettingsOf(version, deployment)
  return (
    <div class="settings-tab">
      <SaveOutcome editor={editor} run={run} />
      {isDeleted && <LostEdits editor={editor} />}
      {!isDeleted && <Conflicts editor={editor} version={version} />}
      <EditBar
        editor={editor}
        version={version}
        isEditing={isEditing}
        refusal={refusal}
        onOpen={(is) => {
          isOpen.value = is
        }}
      />
      <SettingTable title="Settings that act at the next start" fields={runFields} run={run} {...shared} />
      <SettingTable title="Settings that act at once" fields={liveFields} {...shared} />
      <SettingTable title="Settings of the schedule, which act at once" fields={scheduleFields} {...shared} />
      <ReadOnly world={version.world} deployment={deployment} />
    </div>
  )
}

/** The edits of a world that somebody has deleted. */
const LostEdits = ({ editor }: { readonly editor: Editor }) => {
  const draft = editor.draft.value
  if (draft === undefined) return null
  return (
    <div role="alert" class="notice">
      <p>
        <strong>Your edits cannot be saved: the world was deleted.</strong>
      </p>
      <ul>
        {editedFields(draft).map((field) => (
          <li key={field.id}>
            {field.name}: <Value field={field} text={draft.texts[field.id] ?? ''} />
          </li>
        ))}
      </ul>
      <button type="button" onClick={editor.discard}>
        Discard
      </button>
    </div>
  )
}
