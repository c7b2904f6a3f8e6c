import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { ApiKey } from '#client/operations.ts'
import type { Session } from '../../live/session.ts'
import { FailureNotice } from '../FailureNotice.tsx'
import { Age, Said } from '../pieces.tsx'

/**
 * Asks whether to delete a key, and deletes it. `onDeleted` follows when the focus is back on the page, `onFailed` if the dialog was
 * closed during the request.
 */
export const DeleteKey = ({
  apiKey,
  session,
  onClose,
  onDeleted,
  onFailed,
}: {
  readonly apiKey: ApiKey
  readonly session: Session
  readonly onClose: () => void
  readonly onDeleted: (key: ApiKey) => void
  readonly onFailed: (key: ApiKey, error: unknown) => void
}) => {
  const dialog = useRef<HTMLDialogElement>(null)
  const isPending = useSignal(false)
  const failure = useSignal<unknown>(undefined)
  useEffect(() => dialog.current?.showModal(), [])
  const { documentId, displayName, lastUsedAt } = apiKey
  const remove = async (): Promise<void> => {
    if (isPending.peek()) return
    isPending.value = true
    failure.value = undefined
    try {
      await session.client.deleteApiKey({ params: { apiKeyId: documentId } })
      dialog.current?.close()
      onDeleted(apiKey)
    } catch (error) {
      if (dialog.current === null) onFailed(apiKey, error)
      failure.value = error
      isPending.value = false
    }
  }
  return (
    <dialog ref={dialog} class="confirm" aria-labelledby="delete-title" onClose={onClose}>
      <h2 id="delete-title">
        Delete the key <Said text={displayName} />?
      </h2>
      <p>
        The API refuses the key within a second, its realtime connections end, and so do the tokens that it created. A
        deletion cannot be undone.
      </p>
      <p>
        {lastUsedAt === undefined ? (
          'The key was never used.'
        ) : (
          <>
            The key was last used <Age at={lastUsedAt} /> ago.
          </>
        )}
        {documentId === session.credential.id && <strong> It is the key of this sign-in, which ends.</strong>}
      </p>
      {failure.value !== undefined && <FailureNotice error={failure.value} />}
      <div class="buttons">
        {/* The first button has the focus when the dialog opens, so it must be the harmless one. */}
        <button type="button" onClick={() => dialog.current?.close()}>
          Cancel
        </button>
        <button type="button" class="danger" aria-busy={isPending.value} onClick={() => void remove()}>
          Delete the key
        </button>
      </div>
    </dialog>
  )
}
