import { formatDuration, formatTime } from '#console/state/format.ts'
import { toVisible } from '#console/state/visible.ts'
import { connection, feedFailure, isLoaded, now, tryNow } from '../live/fleet.ts'
import { names } from '../live/names.ts'
import { session, signOut } from '../live/session.ts'

/** The name of the console, the organization, the state of the connection and the credential. */
export const Header = () => {
  const current = session.value
  if (current === undefined) return null
  const { credential, organizationId } = current
  return (
    <header class="header">
      <a class="brand" href="/console/">
        Orrery
      </a>
      {organizationId !== '' && (
        <span class="organization" title={organizationId}>
          {toVisible(names.value.organization) || <code>{organizationId}</code>}
        </span>
      )}
      {organizationId !== '' && <LiveState />}
      <span class="spacer" />
      <span class="credential" title={`${credential.kind} ${credential.id}`}>
        {toVisible(credential.name ?? credential.id)}
      </span>
      <button type="button" onClick={() => signOut()}>
        Sign out
      </button>
    </header>
  )
}

const clockTime = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' })

/** Says whether the page is live. A lost connection is an alert, with the time of the next attempt. */
const LiveState = () => {
  const state = connection.value
  if (feedFailure.value !== '') {
    return (
      <span role="alert" class="live is-lost">
        Not live: {feedFailure.value}
        <TryNow />
      </span>
    )
  }
  if (state.isLive) {
    return (
      <span role="status" class="live">
        {isLoaded.value ? 'Live' : 'Loading'}
      </span>
    )
  }
  const waitMs = state.nextTryMs - now.value
  return (
    <span class="live is-lost">
      <span role="alert">Not live since {formatTime(state.sinceMs, clockTime)}</span>
      <span>{waitMs > 0 ? `, next try in ${formatDuration(waitMs)}` : ', trying'}</span>
      <TryNow />
      {state.isRefused && (
        <span class="hint">
          If the API runs behind a proxy, this page may need its origin in ORRERY_ALLOWED_ORIGINS.
        </span>
      )}
    </span>
  )
}

const TryNow = () => (
  <button type="button" onClick={tryNow}>
    Try now
  </button>
)
