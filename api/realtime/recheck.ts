import type { ScopeIds, ScopeKind } from '#api/domain/access/scope.ts'
import { credentialIds, type Principal } from '#api/platform/auth/principal.ts'
import { type Clock, sleep } from '#shared/clock.ts'
import type { Log } from '#shared/log.ts'
import { type Batcher, createBatcher } from './batcher.ts'
import type { Connection } from './connection.ts'

/** The interval at which every credential and scope is checked, in addition to checks after changes. */
const everyMs = 60_000
const idsAtOnce = 500
/** The interval at which connections with expired credentials are ended. */
const expiryMs = 250

type RecheckOptions = {
  readonly connections: ReadonlySet<Connection>
  /** Reads principals again, in the given order. Undefined means that the credential is no longer valid. */
  readonly readCredentials: (principals: readonly Principal[]) => Promise<readonly (Principal | undefined)[]>
  readonly verifyToken: (token: string) => Promise<Principal | undefined>
  readonly scopeExists: (kind: ScopeKind, ids: ScopeIds) => Promise<boolean>
  readonly permit: (connection: Connection, permissions: readonly string[]) => void
  readonly end: (connection: Connection, why: 'credential' | 'scope') => void
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
}

/** Applies changes of credentials and permissions to open connections. */
export const createRecheck = (options: RecheckOptions) => {
  const { connections, clock, log, signal, end, permit } = options
  const byCredential = new Map<string, Set<Connection>>()
  const judge = (connection: Connection, present: Principal | undefined): void => {
    const { permissions, allowedNetworks } = connection.principal
    // The networks are checked when a client connects, so it connects again.
    if (present === undefined || differ(present.allowedNetworks, allowedNetworks)) end(connection, 'credential')
    else {
      connection.principal = { ...present, permissions }
      if (differ(present.permissions, permissions)) permit(connection, present.permissions)
    }
  }
  const ids: Batcher<string> = createBatcher({
    name: 'credentials',
    limit: idsAtOnce,
    ownerOf: (id) => byCredential.get(id)?.values().next().value?.principal.organizationId ?? '',
    clock,
    log,
    signal,
    work: async (changedIds) => {
      const concerned = [...new Set(changedIds.flatMap((id) => [...(byCredential.get(id) ?? [])]))]
      const present = await options.readCredentials(concerned.map(({ principal }) => principal))
      for (const [at, connection] of concerned.entries()) judge(connection, present[at])
      return []
    },
  })
  const changed = (id: string): void => {
    if (byCredential.has(id)) ids.add(id)
  }
  const addFirst = ({ principal }: Connection): void => {
    const [first] = credentialIds(principal)
    if (first !== undefined) ids.add(first)
  }
  const endExpired = async (): Promise<void> => {
    while (!signal.aborted) {
      await sleep(clock, expiryMs, signal)
      const nowMs = clock.now()
      for (const connection of connections) {
        if ((connection.principal.expiresAtMs ?? Number.POSITIVE_INFINITY) <= nowMs) end(connection, 'credential')
      }
    }
  }
  const checkToken = async (connection: Connection): Promise<void> => {
    if (connection.token === undefined) return
    if ((await options.verifyToken(connection.token)) === undefined) end(connection, 'credential')
  }
  const checkTokens = async (): Promise<void> => {
    let failure: unknown
    let failed = 0
    for (const connection of connections) {
      try {
        await checkToken(connection)
      } catch (error) {
        // The issuer may be unavailable, which says nothing about the token.
        failure = error
        failed += 1
      }
    }
    if (failed > 0) log.warn({ err: failure, failed }, 'realtime: could not verify tokens, retrying in a minute')
  }
  const checkScopes = async (): Promise<void> => {
    const scopes = Map.groupBy(
      connections,
      ({ scope }) => `${scope.organizationId}/${scope.projectId}/${scope.worldId}`,
    )
    for (const [first, ...others] of scopes.values()) {
      if (first === undefined || signal.aborted) continue
      if (await options.scopeExists(kindOf(first.scope), first.scope)) continue
      for (const connection of [first, ...others]) end(connection, 'scope')
    }
  }
  return {
    /** Adds a new connection. Its credential is read again, since it may have changed after it was verified. */
    add: (connection: Connection): void => {
      for (const id of credentialIds(connection.principal)) {
        byCredential.set(id, (byCredential.get(id) ?? new Set()).add(connection))
      }
      addFirst(connection)
    },
    remove: (connection: Connection): void => {
      for (const id of credentialIds(connection.principal)) {
        const others = byCredential.get(id)
        others?.delete(connection)
        if (others?.size === 0) byCredential.delete(id)
      }
    },
    /** Reads the credentials that a change of a key, a token or a signing key concerns. */
    changed,
    /** Reads every credential, of the connections to these organizations or of all, since changes may have been missed. */
    all: (organizations?: ReadonlySet<string>): void => {
      for (const connection of connections) {
        if (organizations?.has(connection.scope.organizationId) !== false) addFirst(connection)
      }
    },
    /** Checks all credentials and scopes once a minute until the signal is aborted. */
    run: async (): Promise<void> => {
      const expiring = endExpired()
      while (!signal.aborted) {
        await sleep(clock, everyMs, signal)
        for (const connection of connections) addFirst(connection)
        try {
          await checkTokens()
          await checkScopes()
        } catch (error) {
          log.warn({ err: error }, 'realtime: could not check scopes, retrying in a minute')
        }
      }
      await expiring
    },
  }
}

const kindOf = ({ projectId, worldId }: ScopeIds): ScopeKind =>
  worldId !== '' ? 'world' : projectId !== '' ? 'project' : 'organization'

const differ = (a: readonly string[] = [], b: readonly string[] = []): boolean => a.join('\n') !== b.join('\n')
