import { computed, type ReadonlySignal, signal } from '@preact/signals'
import { type Answer, ApiError, type Client, type ClientOptions, createClient } from '#client/client.ts'
import { sendIdentified } from '#client/identified.ts'
import { identityOf } from '#client/options.ts'
import { createRealtime, type Realtime, type RealtimeOptions } from '#client/realtime.ts'
import { formatCount } from '#console/state/format.ts'
import { projectOf } from '#console/state/rights.ts'
import { type Issuer, type Outcome, parseToken, signedOut, type Token } from '#console/state/signIn.ts'
import { place } from './location.ts'
import { takeReturn } from './returned.ts'
import { store, stored } from './storage.ts'
import { createTokens, exchangeCode } from './tokens.ts'
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

/** The silence after which the connection is probed. At most three times this time passes until a dead one is known. */
const quietMs = 3_000

/** The reason of a session that the API ends. */
export const invalidKey = 'The key or token is no longer valid. Sign in again.'

type Scope = Pick<Session, 'organizationId' | 'projectId'>
type Identity = Pick<ClientOptions, 'apiKey' | 'bearerToken' | 'fetch'>
type SignedIn = {
  readonly credential: Credential
  /** The issuer of the user, who did not sign in with a key. */
  readonly issuer?: Issuer
  openIn(scope: Scope): Session
  close(): void
}

const signedIn = signal<SignedIn | undefined>(undefined)
const ended = signal('')
const endedAt = signal<Issuer | undefined>(undefined)
const failed = signal<unknown>(undefined)

const organizationId = computed(() => place.value.organizationId || (signedIn.value?.credential.organizationId ?? ''))
const projectId = computed(() => {
  const { permissions = [] } = signedIn.value?.credential ?? {}
  return projectOf(permissions, organizationId.value, place.value.projectId)
})
/** The present session, or undefined before the sign-in. It changes with the credential and the scope only. */
export const session: ReadonlySignal<Session | undefined> = computed(() =>
  signedIn.value?.openIn({ organizationId: organizationId.value, projectId: projectId.value }),
)
/** The sentence of the page for the sign-in about the last session, or about an attempt to sign in. Empty for none. */
export const endReason: ReadonlySignal<string> = ended
/** The issuer of the last session, or of an attempt to sign in, which one click repeats. */
export const endIssuer: ReadonlySignal<Issuer | undefined> = endedAt
/** The error of the last attempt to sign in at an issuer. */
export const returnFailure: ReadonlySignal<unknown> = failed

/**
 * Signs in with an API key. The key stays in the memory of this module, and in the storage of the tab if `isKept`. Throws the
 * error of the request, such as an ApiError with status 401 for an unknown key.
 */
export const signIn = async (apiKey: string, { isKept }: { readonly isKept: boolean }): Promise<void> => {
  const credential = await createClient({ baseUrl: '', apiKey }).getCurrentCredential()
  forget()
  if (isKept) store('orrery.key', apiKey)
  const fetchKnown: typeof fetch = async (...request) => {
    const response = await fetch(...request)
    // An answer that comes late belongs to an earlier session.
    if (response.status === 401 && signedIn.peek()?.credential === credential) signOut(invalidKey)
    return response
  }
  const identity = { apiKey, fetch: fetchKnown }
  begin({ credential, openIn: (scope) => openSession(identity, credential, scope), close: () => undefined })
}

/** Signs in with the token of an issuer, which is renewed until the session ends. Throws as `signIn` does. */
const signInWith = async (token: Token, { isKept }: { readonly isKept: boolean }): Promise<void> => {
  const { id, issuer, name } = token
  const keep = (next: Token): void => {
    if (isKept) store('orrery.token', JSON.stringify(next))
  }
  const tokens = createTokens(token, {
    onRenewed: keep,
    onEnd: (reason) => {
      endedAt.value = { id, issuer, name }
      signOut(reason)
    },
  })
  const identity = { bearerToken: tokens.present }
  keep(token)
  try {
    const credential = await createClient({ baseUrl: '', ...identity }).getCurrentCredential()
    const openIn = (scope: Scope): Session => openSession(identity, credential, scope)
    begin({ credential, issuer: { id, issuer, name }, openIn, close: tokens.close })
  } catch (error) {
    tokens.close()
    throw error
  }
}

const begin = (next: SignedIn): void => {
  ended.value = ''
  endedAt.value = undefined
  failed.value = undefined
  signedIn.value = next
}

/**
 * Signs in with the answer of an issuer that sent the browser here, or with what the tab keeps. Resolves without a session if there is
 * none of them, or if it is not valid. Throws the error of any other failure, after which another attempt may succeed.
 */
export const resume = async (): Promise<void> => {
  const returned = takeReturn()
  if (returned !== undefined && returned.kind !== 'foreign') return finish(returned)
  const [apiKey, token] = [stored('orrery.key'), parseToken(stored('orrery.token'))]
  try {
    if (apiKey !== undefined) await signIn(apiKey, { isKept: true })
    else if (token !== undefined) await signInWith(token, { isKept: true })
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 401)) throw error
    if (ended.peek() === '') signOut(invalidKey)
  }
  if (returned !== undefined && signedIn.peek() === undefined && ended.peek() === '') ended.value = returned.text
}

/** Signs in with the answer of an issuer. A code is valid once, so after a failure only another sign-in helps. */
const finish = async (returned: Exclude<Outcome, { kind: 'foreign' }>): Promise<void> => {
  if (returned.kind === 'failed') {
    ended.value = returned.text
    endedAt.value = returned.issuer
    return
  }
  const { attempt } = returned
  endedAt.value = attempt
  forget()
  try {
    await signInWith(await exchangeCode(returned.returned, attempt), attempt)
  } catch (error) {
    forget()
    failed.value = error
  }
}

/**
 * Ends the session and forgets the key or the token. `reason` is shown on the page for the sign-in, with the number of edits that are
 * lost.
 */
export const signOut = (reason = ''): void => {
  const lost = reason === '' ? 0 : countUnsaved()
  const issuer = signedIn.peek()?.issuer
  if (issuer !== undefined) endedAt.value = issuer
  const text = reason === '' && issuer !== undefined ? signedOut(issuer) : reason
  ended.value =
    lost === 0
      ? text
      : `${text} The session lost ${formatCount(lost, 'edit')} that ${lost === 1 ? 'was' : 'were'} not saved.`
  signedIn.peek()?.close()
  signedIn.value = undefined
  forget()
}

const forget = (): void => {
  for (const name of ['orrery.key', 'orrery.token', 'orrery.signIn'] as const) store(name, undefined)
}

const openSession = (identity: Identity, credential: Credential, { organizationId, projectId }: Scope): Session => {
  const scope = organizationId === '' ? {} : { organizationId }
  const client = createClient({ baseUrl: '', ...identity, ...scope })
  return {
    credential,
    organizationId,
    projectId,
    client,
    inProject: (projectId) => client.in({ ...scope, projectId }),
    openStream: async (path, { projectId, accept, signal }) => {
      const { fetch = globalThis.fetch } = identity
      const { response } = await sendIdentified({ ...identity, organizationId, projectId }, (known) =>
        fetch(path, { headers: [...identityOf(known), ['accept', accept]], redirect: 'error', signal }),
      )
      return response
    },
    openRealtime: (onState) => {
      const { fetch: _, ...credentials } = identity
      const project = projectId === '' ? {} : { projectId }
      const more = { ...scope, ...project, ...(onState && { onState }) }
      return createRealtime({ baseUrl: '', ...credentials, usesTickets: true, quietMs, ...more })
    },
  }
}
