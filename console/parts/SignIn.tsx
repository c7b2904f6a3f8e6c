import { useSignal } from '@preact/signals'
import { ApiError } from '#client/client.ts'
import { endReason, signIn } from '../live/session.ts'
import { FailureNotice } from './FailureNotice.tsx'

/** Returns the text of an error that a wrong key causes, or undefined for any other error. */
const explainKey = (error: unknown): string | undefined => {
  if (error instanceof ApiError && error.status === 401) {
    return 'The API does not know this key, or the key has expired. Check it, or ask the owner of the organization.'
  }
  if (error instanceof TypeError && error.message.startsWith('apiKey')) {
    return 'A key has only visible ASCII characters, without spaces. Paste it again.'
  }
  return undefined
}

const focus = (field: HTMLInputElement | null): void => field?.focus()

/** The form for the sign-in with an API key, as password managers fill it. */
export const SignIn = () => {
  const failure = useSignal<unknown>(undefined)
  const isBusy = useSignal(false)
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault()
    const fields = new FormData(event.currentTarget as HTMLFormElement)
    isBusy.value = true
    failure.value = undefined
    try {
      await signIn(String(fields.get('key')).trim(), { isKept: fields.has('keep') })
    } catch (error) {
      failure.value = error
    } finally {
      isBusy.value = false
    }
  }
  const notice = failure.value === undefined ? endReason.value : explainKey(failure.value)
  return (
    <main class="sign-in">
      <form class="card" onSubmit={(event) => void submit(event)}>
        <h1>Orrery</h1>
        <p class="muted">See the worlds of an organization, live, and why one does not run.</p>
        <input type="text" name="username" autocomplete="username" value="orrery" readOnly hidden />
        <label for="key">API key</label>
        <input
          id="key"
          name="key"
          type="password"
          autocomplete="current-password"
          required
          ref={focus}
          maxLength={512}
          spellcheck={false}
          aria-describedby="key-help"
        />
        <p id="key-help" class="muted small">
          The key stays in the memory of this page. A reload asks for it again.
        </p>
        <label class="keep">
          <input type="checkbox" name="keep" /> Keep me signed in in this tab
        </label>
        {notice === undefined ? <FailureNotice error={failure.value} /> : <Notice text={notice} />}
        <button type="submit" class="primary" disabled={isBusy.value}>
          {isBusy.value ? 'Signing in…' : 'Sign in'}
        </button>
      </form>
    </main>
  )
}

const Notice = ({ text }: { readonly text: string }) =>
  text === '' ? null : (
    <p role="alert" class="notice">
      {text}
    </p>
  )
