import { computed, type ReadonlySignal, signal } from '@preact/signals'
import { type Answer, ApiError, type Client, createClient } from '#client/client.ts'
import { createRealtime, type Realtime, type RealtimeOptions } from '#client/realtime.ts'
import { formatCount } from '#console/state/format.ts'
import { projectOf } from '#console/state/rights.ts'
import { place } from './location.ts'
import { countUnsaved } from './unsaved.ts'

/** The credential that is signed in, without its secret. */
export type Credential = Answer<'getCurrentCredential'>

/** A signed-in credential in the organization of the present place, whose id is '' until one is chosen. */
export type Session = {
  readonly credential: Credential
  readonly organizationId: string
  /** The project whose worlds are shown, for a credential without a permission on the organization. Empty for all projects. */
  readonly projectId: string
  /** The client with the scope of the organization. */
  readonly client: Client
  /** Returns the client with the scope of a project. */
  inProject(projectId: string): Client
  /** Requests a stream of the API with the credential and the scope of a project. Resolves for every status. */
  openStream(path: string, options: StreamOptions): Promise<Response>
  /** Opens a realtime connection with the scope of the organization, or of `projectId`. */
  openRealtime(onState: RealtimeOptions['onState']): Realtime
}

type StreamOptions = { readonly projectId: string; readonly accept: string; readonly signal: AbortSignal }

/** The only thing that the console stores, in the storage of the tab, and only if the user asked for it. */
const storageName = 'orrery.key'
/** The silence after which the connection is probed. At most three times this time passes until a dead one is known. */
const quietMs = 3_000

/** The reason of a session that the API ends. */
export const invalidKey = 'The key is no longer valid. Sign in again.'

type Scope = Pick<Session, 'organizationId' | 'projectId'>
type SignedIn = { readonly credential: Credential; openIn(scope: Scope): Session }

const signedIn = signal<SignedIn | undefined>(undefined)
const ended = signal('')

const organizationId = computed(() => place.value.organizationId || (signedIn.value?.credential.organizationId ?? ''))
const projectId = computed(() => {
  const { permissions = [] } = signedIn.value?.credential ?? {}
  return projectOf(permissions, organizationId.value, place.value.projectId)
})
/** The present session, or undefined before the sign-in. It changes with the credential and the scope only. */
export const session: ReadonlySignal<Session | undefined> = computed(() =>
  signedIn.value?.openIn({ organizationId: organizationId.value, projectId: projectId.value }),
)
/** The reason why the last session ended without the user. Empty if it did not. */
export const endReason: ReadonlySignal<string> = ended

/**
 * Signs in with an API key. The key stays in the memory of this module, and in the storage of the tab if `isKept`. Throws the
 * error of the request, such as an ApiError with status 401 for an unknown key.
 */
export const signIn = async (apiKey: string, { isKept }: { readonly isKept: boolean }): Promise<void> => {
  const credential = await createClient({ baseUrl: '', apiKey }).getCurrentCredential()
  keep(isKept ? apiKey : undefined)
  ended.value = ''
  signedIn.value = { credential, openIn: (scope) => openSession(apiKey, credential, scope) }
}

/**
 * Signs in with the key that the tab keeps. Resolves without a session if there is none, or if it is no longer valid. Throws the error
 * of any other failure, after which another attempt may succeed.
 */
export const resume = async (): Promise<void> => {
  const apiKey = kept()
  if (apiKey === undefined) return
  try {
    await signIn(apiKey, { isKept: true })
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 401)) throw error
    signOut(invalidKey)
  }
}

/** Ends the session and forgets the key. `reason` is shown on the page for the sign-in, with the number of edits that are lost. */
export const signOut = (reason = ''): void => {
  const lost = reason === '' ? 0 : countUnsaved()
  ended.value =
    lost === 0
      ? reason
      : `${reason} The session lost ${formatCount(lost, 'edit')} that ${lost === 1 ? 'was' : 'were'} not saved.`
  signedIn.value = undefined
  keep(undefined)
}

// A browser that blocks the storage of sites throws. The console works without it.
const kept = (): string | undefined => {
  try {
    return sessionStorage.getItem(storageName) ?? undefined
  } catch {
    return undefined
  }
}
const keep = (apiKey: string | undefined): void => {
  try {
    if (apiKey === undefined) sessionStorage.removeItem(storageName)
    else sessionStorage.setItem(storageName, apiKey)
  } catch {}
}

const openSession = (apiKey: string, credential: Credential, { organizationId, projectId }: Scope): Session => {
  const scope = organizationId === '' ? {} : { organizationId }
  const fetchKnown: typeof fetch = async (...request) => {
    const response = await fetch(...request)
    // An answer that comes late belongs to an earlier session.
    if (response.status === 401 && signedIn.peek()?.credential === credential) signOut(invalidKey)
    return response
  }
  const options = { baseUrl: '', apiKey, fetch: fetchKnown, ...scope }
  const client = createClient(options)
  return {
    credential,
    organizationId,
    projectId,
    client,
    inProject: (projectId) => client.in({ ...scope, projectId }),
    openStream: (path, { projectId, accept, signal }) =>
      fetchKnown(path, {
        headers: {
          'x-api-key': apiKey,
          'x-svc-organization-id': organizationId,
          'x-svc-project-id': projectId,
          accept,
        },
        redirect: 'error',
        signal,
      }),
    openRealtime: (onState) => {
      const project = projectId === '' ? {} : { projectId }
      return createRealtime({
        baseUrl: '',
        apiKey,
        usesTickets: true,
        quietMs,
        ...scope,
        ...project,
        ...(onState && { onState }),
      })
    },
  }
}
