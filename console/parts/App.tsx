import { effect, signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { toVisible } from '#console/state/visible.ts'
import { rowOf } from '../live/fleet.ts'
import { place } from '../live/location.ts'
import { resume, session, signOut } from '../live/session.ts'
import { FailureNotice } from './FailureNotice.tsx'
import { Fleet } from './Fleet.tsx'
import { Header } from './Header.tsx'
import { Organizations } from './Organizations.tsx'
import { SignIn } from './SignIn.tsx'
import { WorldPage } from './world/WorldPage.tsx'

effect(() => {
  const { worldId } = place.value
  const name = worldId === '' ? 'Worlds' : (rowOf(worldId)?.name ?? worldId)
  document.title = `${session.value === undefined ? 'Sign in' : toVisible(name)} · Orrery`
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
          Sign in with another key
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
    </>
  )
}

const Page = ({ organizationId }: { readonly organizationId: string }) => {
  const { worldId, projectId } = place.value
  // As after a load, the keyboard continues at the content of the new page.
  useEffect(() => document.querySelector<HTMLElement>('#main')?.focus(), [worldId, organizationId])
  if (organizationId === '') return <Organizations />
  return worldId === '' ? (
    <Fleet key={organizationId} />
  ) : (
    <WorldPage key={worldId} projectId={projectId} worldId={worldId} />
  )
}
