import { signal } from '@preact/signals'
import { editedFields } from '#console/state/settings/draft.ts'
import { createEditor, type Editor } from './editor.ts'
import { isLoaded, rowOf } from './fleet.ts'
import { type Session, session } from './session.ts'
import { countUnsaved, countUnsavedWith } from './unsaved.ts'

type Ids = { readonly organizationId: string; readonly projectId: string; readonly worldId: string }
type Kept = { readonly ids: Ids; readonly editor: Editor }

/** The editors that are kept for a session. */
const maxEditors = 20
const editors = new WeakMap<Session['credential'], Map<string, Kept>>()

/** Reports whether the feed, which has all worlds of its scope, no longer has a world. Its edits cannot be saved. */
const isDeleted = ({ organizationId, projectId, worldId }: Ids, shown: Session): boolean => {
  const isInScope = shown.organizationId === organizationId && ['', projectId].includes(shown.projectId)
  return isInScope && isLoaded.peek() && rowOf(worldId) === undefined
}

countUnsavedWith(() => {
  const shown = session.peek()
  if (shown === undefined) return 0
  const counts = [...(editors.get(shown.credential)?.values() ?? [])].map(({ ids, editor }) => {
    const draft = editor.draft.peek()
    return draft === undefined || isDeleted(ids, shown) ? 0 : editedFields(draft).length
  })
  return counts.reduce((sum, each) => sum + each, 0)
})

// A reload loses the edits, so the browser asks first.
addEventListener('beforeunload', (event) => {
  if (countUnsaved() > 0) event.preventDefault()
})

/** Returns the editor of a world in the session of the credential. */
export const editorOf = (credential: Session['credential'], ids: Ids): Editor | undefined => {
  const all = editors.get(credential) ?? new Map<string, Kept>()
  editors.set(credential, all)
  const key = `${ids.organizationId}/${ids.projectId}/${ids.worldId}`
  const client = session.peek()?.inProject(ids.projectId)
  const editor = all.get(key)?.editor ?? (client && createEditor(client, ids.worldId))
  if (editor === undefined) return undefined
  // The one that was used last is the last one, and stays.
  all.delete(key)
  if (all.size >= maxEditors) {
    const unedited = [...all].find(([, kept]) => kept.editor.draft.peek() === undefined)
    const [dropped = ''] = unedited ?? [...all.keys()]
    all.delete(dropped)
  }
  all.set(key, { ids: { ...ids }, editor })
  return editor
}

/** The advice whose setting the tab of its world shows next, such as `networking.ports`. Undefined for none. */
export const advised = signal<{ readonly worldId: string; readonly field: string } | undefined>(undefined)
