import { effect, signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { pageNameIn } from '#console/state/pageNames.ts'
import { isPlatformPage } from '#console/state/route.ts'
import { toVisible } from '#console/state/visible.ts'
import { rowOf } from '../live/fleet.ts'
import { place } from '../live/location.ts'
import { resume, session, signOut } from '../live/session.ts'
import { BulkStatus } from './bulk/BulkStatus.tsx'
import { FailureNotice } from './FailureNotice.tsx'
import { Fleet } from './Fleet.tsx'
import { Header } from './Header.tsx'
import { lazy } from './lazy.tsx'
import { PaletteHost } from './palette/PaletteHost.tsx'
import { SignIn } from './SignIn.tsx'

const WorldPage = lazy(async () => (await import('./world/WorldPage.tsx')).WorldPage)
const LaunchPage = lazy(async () => (await import('./launch/LaunchPage.tsx')).LaunchPage)
const OrganizationPage = lazy(async () => (await import('./organization/OrganizationPage.tsx')).OrganizationPage)
const PlatformPage = lazy(async () => (await import('./platform/PlatformPage.tsx')).PlatformPage)

effect(() => {
  const { worldId, page } = place.value
  const { organizationId } = session.value ?? {}
  const name = worldId === '' ? pageNameIn(organizationId ?? '', page) : (rowOf(worldId)?.name ?? worldId)
  document.title = `${organizationId === undefined ? 'Sign in' : toVisible(name)} · Orrery`
})

const isResuming = signal(true)
const resumeFailure = signal<unknown>(undefined)
const tryToResume = async (): Promise<void> => {
  isResuming.value = true
  resumeFailure.value = undefined
  try {
    await resume()
  } catch (error) {
    resumeFailure.value = error
  }
  isResuming.value = false
}
void tryToResume()

const forget = (): void => {
  resumeFailure.value = undefined
  signOut()
}

/** The console: the sign-in, then the page of the present place. */
export const App = () => {
  if (isResuming.value) return <p class="page muted">Loading…</p>
  const current = session.value
  if (current === undefined && resumeFailure.value !== undefined) {
    return (
      <main class="page">
        <FailureNotice error={resumeFailure.value} />
        <button type="button" onClick={() => void tryToResume()}>
          Try again
        </button>{' '}
        <button type="button" onClick={forget}>
          Sign in another way
        </button>
      </main>
    )
  }
  if (current === undefined) return <SignIn />
  return (
    <>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <Header />
      <main id="main" class="page" tabIndex={-1}>
        <Page organizationId={current.organizationId} />
      </main>
      <BulkStatus />
      <PaletteHost />
    </>
  )
}

const Page = ({ organizationId }: { readonly organizationId: string }) => {
  const { worldId, projectId, page } = place.value
  // As after a load, the keyboard continues at the content of the new page.
  useEffect(() => document.querySelector<HTMLElement>('#main')?.focus(), [worldId, organizationId, page])
  if (organizationId === '' || isPlatformPage(page)) return <PlatformPage />
  if (worldId !== '') return <WorldPage key={worldId} projectId={projectId} worldId={worldId} />
  if (page === 'fleet') return <Fleet key={organizationId} />
  if (page === 'launch') return <LaunchPage key={organizationId} />
  return <OrganizationPage key={organizationId} />
}
