import { useSignal } from '@preact/signals'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { ApiError } from '#client/client.ts'
import type { Issuer } from '#console/state/signIn.ts'
import { toVisible } from '#console/state/visible.ts'
import { goToIssuer, issuers, issuersFailure, loadIssuers } from '../live/issuers.ts'
import { endIssuer, endReason, returnFailure, signIn } from '../live/session.ts'
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

const focus = (field: HTMLElement | null): void => field?.focus()

/** The form for the sign-in with an API key, as password managers fill it, and a button for each issuer. */
export const SignIn = () => {
  useLayoutEffect(() => void loadIssuers(), [])
  const form = useRef<HTMLFormElement>(null)
  const failure = useSignal<unknown>(returnFailure.peek())
  const text = useSignal(endReason.peek())
  const isBusy = useSignal(false)
  /** Tries to sign in. `act` returns why it does not, or ''. */
  const attempt = async (act: (options: { isKept: boolean }) => Promise<string>): Promise<void> => {
    const isKept = new FormData(form.current ?? undefined).has('keep')
    isBusy.value = true
    failure.value = undefined
    text.value = ''
    try {
      text.value = await act({ isKept })
    } catch (error) {
      const explained = explainKey(error)
      if (explained === undefined) failure.value = error
      else text.value = explained
    } finally {
      isBusy.value = false
    }
  }
  const submit = (event: SubmitEvent): void => {
    event.preventDefault()
    const key = String(new FormData(form.current ?? undefined).get('key')).trim()
    void attempt(async (options) => {
      await signIn(key, options)
      return ''
    })
  }
  const last = endIssuer.value
  return (
    <main class="sign-in">
      <form class="card" ref={form} onSubmit={submit}>
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
          ref={last === undefined ? focus : null}
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
        <Notice text={text.value} />
        {failure.value !== undefined && <FailureNotice error={failure.value} />}
        <button type="submit" class={last === undefined ? 'primary' : ''} disabled={isBusy.value}>
          {isBusy.value ? 'Signing in…' : 'Sign in'}
        </button>
        {(issuers.value ?? (last === undefined ? [] : [last])).map((each) => (
          <IssuerButton
            key={each.issuer}
            name={each.name}
            isLast={each.issuer === last?.issuer}
            isBusy={isBusy.value}
            onClick={() => void attempt((options) => goToIssuer(each, options))}
          />
        ))}
        {issuersFailure.value !== undefined && (
          <p class="muted small">
            The other ways to sign in could not be loaded.{' '}
            <button type="button" onClick={() => void loadIssuers()}>
              Retry
            </button>
          </p>
        )}
      </form>
    </main>
  )
}

/** Leads to the page of an issuer. The one of the last session is the first choice. */
const IssuerButton = ({
  name,
  isLast,
  isBusy,
  onClick,
}: Pick<Issuer, 'name'> & { readonly isLast: boolean; readonly isBusy: boolean; readonly onClick: () => void }) => (
  <button type="button" class={isLast ? 'primary' : ''} ref={isLast ? focus : null} disabled={isBusy} onClick={onClick}>
    Sign in with <bdi>{toVisible(name)}</bdi>
  </button>
)

const Notice = ({ text }: { readonly text: string }) =>
  text === '' ? null : (
    <p role="alert" class="notice">
      {toVisible(text)}
    </p>
  )
