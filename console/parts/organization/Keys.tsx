import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import type { ApiKey } from '#client/operations.ts'
import { formatCount } from '#console/state/format.ts'
import { matchKeys } from '#console/state/keys.ts'
import { toVisible } from '#console/state/visible.ts'
import { type Items, readAll } from '../../live/readAll.ts'
import type { Session } from '../../live/session.ts'
import { FailureNotice } from '../FailureNotice.tsx'
import { Permitted, refusalIn } from '../Permitted.tsx'
import { Loaded } from '../pieces.tsx'
import { DeleteKey } from './DeleteKey.tsx'
import { KeyTable } from './KeyTable.tsx'
import { LongNote } from './LongNote.tsx'
import { useList } from './useList.ts'

/** The API keys of the organization, without their strings. */
export const Keys = ({ session }: { readonly session: Session }) => (
  <Permitted session={session} operationId="listApiKeys" what="the keys of the organization">
    <List session={session} />
  </Permitted>
)

const List = ({ session }: { readonly session: Session }) => {
  // No read asks for the string of a key.
  const { slot, load } = useList((signal) =>
    readAll(session.client.pages('listApiKeys', { query: { limit: 500, keyStrings: 'masked' }, signal }), 2),
  )
  const chosen = useSignal<ApiKey | undefined>(undefined)
  const outcome = useSignal('')
  const failure = useSignal<unknown>(undefined)
  const status = useRef<HTMLParagraphElement>(null)
  return (
    <>
      <p ref={status} role="status" tabIndex={-1} class={outcome.value === '' ? 'visually-hidden' : ''}>
        {outcome.value}
      </p>
      {failure.value !== undefined && <FailureNotice error={failure.value} />}
      <Loaded slot={slot.value} what="The keys" onRetry={load}>
        {(keys) => (
          <>
            <Found
              keys={keys}
              session={session}
              onDelete={(key) => {
                outcome.value = ''
                failure.value = undefined
                chosen.value = key
              }}
            />
            <LongNote list={keys} onRead={load} />
          </>
        )}
      </Loaded>
      {chosen.value !== undefined && (
        <DeleteKey
          key={chosen.value.documentId}
          apiKey={chosen.value}
          session={session}
          onClose={() => {
            chosen.value = undefined
          }}
          onDeleted={({ displayName }) => {
            outcome.value = `The key ${toVisible(displayName)} is deleted.`
            // The button of the row, which had the focus, goes away.
            status.current?.focus()
            load()
          }}
          onFailed={({ displayName }, error) => {
            outcome.value = `The key ${toVisible(displayName)} is not deleted.`
            failure.value = error
          }}
        />
      )}
    </>
  )
}

/** The ids of the notes that say why no key, or a managed one, can be deleted. */
const noteId = 'delete-note'
const managedNoteId = 'delete-managed-note'

const Found = ({
  keys: { items, hasMore },
  session,
  onDelete,
}: {
  readonly keys: Items<ApiKey>
  readonly session: Session
  readonly onDelete: (key: ApiKey) => void
}) => {
  const text = useSignal('')
  const refusal = refusalIn(session, 'deleteApiKey')
  if (items.length === 0)
    return <p class="empty">The organization has no keys. POST /api/organizations/apiKeys/ creates one.</p>
  const matching = matchKeys(items, text.value)
  return (
    <>
      <div class="search">
        <label for="key-filter">Filter</label>
        <input
          id="key-filter"
          type="search"
          value={text.value}
          placeholder="name, id, permission or claim"
          onInput={({ currentTarget }) => {
            text.value = currentTarget.value
          }}
        />
        <span role="status" class="muted">
          {matching.length === items.length
            ? formatCount(items.length, 'key')
            : `${formatCount(matching.length)} of ${formatCount(items.length, 'key')}`}
        </span>
      </div>
      {refusal !== undefined && (
        <p id={noteId} class="muted small">
          Keys cannot be deleted with this sign-in. {refusal}.
        </p>
      )}
      {refusal === undefined && matching.some(({ isManagedByProvisioner }) => isManagedByProvisioner) && (
        <p id={managedNoteId} class="muted small">
          The provisioner manages some keys, so the API does not delete them.
        </p>
      )}
      {matching.length === 0 ? (
        <p class="empty">No key matches the filter.</p>
      ) : (
        <KeyTable
          keys={matching}
          session={session}
          noteIds={refusal === undefined ? { managed: managedNoteId } : { any: noteId }}
          onDelete={onDelete}
        />
      )}
      <p class="muted small">
        The strings of keys are never requested nor shown here.
        {hasMore &&
          ` The first ${formatCount(items.length)} keys are shown. GET /api/organizations/apiKeys/ returns all.`}
      </p>
    </>
  )
}
