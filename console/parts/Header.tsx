import { useSignal } from '@preact/signals'
import { formatCount, formatDuration, formatTime } from '#console/state/format.ts'
import { pageNameIn } from '#console/state/pageNames.ts'
import { type PageName, platformPages } from '#console/state/route.ts'
import { toVisible } from '#console/state/visible.ts'
import { connection, feedFailure, isLoaded, now, tryNow } from '../live/fleet.ts'
import { fleetProject, hrefOf, place } from '../live/location.ts'
import { names } from '../live/names.ts'
import { session, signOut } from '../live/session.ts'
import { countUnsaved } from '../live/unsaved.ts'
import { refusalIn } from './Permitted.tsx'
import { PaletteButton } from './palette/PaletteHost.tsx'

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
      {organizationId === '' && refusalIn(current, 'getSyncStatus') === undefined && <PlatformNavigation />}
      {organizationId !== '' && credential.organizationId === undefined && <a href="/console/">All organizations</a>}
      {organizationId !== '' && (
        <span class="organization" title={organizationId}>
          {toVisible(names.value.organization) || <code>{organizationId}</code>}
        </span>
      )}
      {organizationId !== '' && <Navigation />}
      {organizationId !== '' && <LiveState />}
      <span class="spacer" />
      <PaletteButton />
      <span class="credential" title={`${credential.kind} ${credential.id}`}>
        {toVisible(credential.name ?? credential.id)}
      </span>
      <SignOut />
    </header>
  )
}

const groups: readonly { readonly name: string; readonly pages: readonly PageName[] }[] = [
  { name: 'Worlds', pages: ['fleet'] },
  { name: 'Launch', pages: ['launch'] },
  { name: 'Organization', pages: ['usage', 'projects', 'keys', 'webhooks', 'deleted', 'audit'] },
]

const Navigation = () => {
  const { page, worldId } = place.value
  return (
    <nav class="nav" aria-label="Console">
      {groups.map(({ name, pages }) => (
        <a
          key={name}
          href={hrefOf({ page: pages[0] ?? 'fleet', projectId: fleetProject.value, worldId: '', tab: 'now', run: '' })}
          aria-current={worldId === '' && pages.includes(page) ? 'page' : undefined}
        >
          {name}
        </a>
      ))}
    </nav>
  )
}

const PlatformNavigation = () => (
  <nav class="nav" aria-label="Platform">
    {(['fleet', ...platformPages] as const).map((page) => (
      <a
        key={page}
        href={hrefOf({ page, filter: '', sort: '', columns: '' })}
        aria-current={page === place.value.page ? 'page' : undefined}
      >
        {pageNameIn('', page)}
      </a>
    ))}
  </nav>
)

/** The button that signs out, with a second click if that loses edits. */
const SignOut = () => {
  const lost = useSignal(0)
  const name = lost.value === 0 ? 'Sign out' : `Sign out and lose ${formatCount(lost.value, 'edit')}`
  return (
    <>
      <span role="status" class="visually-hidden">
        {lost.value > 0 && `Not saved yet: ${formatCount(lost.value, 'edit')}. Press again to sign out and lose them.`}
      </span>
      <button
        type="button"
        onClick={() => {
          const count = countUnsaved()
          if (count <= lost.value) signOut()
          else lost.value = count
        }}
        onBlur={() => {
          lost.value = 0
        }}
      >
        {name}
      </button>
    </>
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
