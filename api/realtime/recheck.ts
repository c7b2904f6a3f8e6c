import type { ScopeIds, ScopeKind } from '#api/domain/access/scope.ts'
import type { Principal } from '#api/platform/auth/principal.ts'
import { type Clock, sleep } from '#shared/clock.ts'
import type { Log } from '#shared/log.ts'
import { type Batcher, createBatcher } from './batcher.ts'
import type { Connection } from './connection.ts'

/** Every credential and scope is looked at this often, whatever was told of changes meanwhile. */
const everyMs = 60_000
const keysAtOnce = 500

type RecheckOptions = {
  readonly connections: ReadonlySet<Connection>
  readonly readKeys: (ids: readonly string[]) => Promise<ReadonlyMap<string, Principal>>
  readonly verifyToken: (token: string) => Promise<Principal | undefined>
  readonly scopeExists: (kind: ScopeKind, ids: ScopeIds) => Promise<boolean>
  readonly permit: (connection: Connection, permissions: readonly string[]) => void
  readonly end: (connection: Connection, why: 'credential' | 'scope') => void
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
}

/** Keeps what open connections may do in step with what their credentials may. */
export const createRecheck = (options: RecheckOptions) => {
  const { connections, clock, log, signal, end, permit } = options
  const byKey = new Map<string, Set<Connection>>()
  const keys: Batcher<string> = createBatcher({
    name: 'keys',
    limit: keysAtOnce,
    clock,
    log,
    signal,
    work: async (ids) => {
      const present = await options.readKeys(ids)
      for (const id of ids) {
        const principal = present.get(id)
        for (const connection of byKey.get(id) ?? []) {
          if (principal === undefined) end(connection, 'credential')
          else if (differ(principal.permissions, connection.principal.permissions)) {
            permit(connection, principal.permissions)
          }
        }
      }
    },
  })
  const changed = (id: string): void => {
    if (byKey.has(id)) keys.add(id)
  }
  const checkToken = async (connection: Connection): Promise<void> => {
    if (connection.token === undefined) return
    if ((await options.verifyToken(connection.token)) === undefined) end(connection, 'credential')
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
    /** Follows a new connection; its key is read once more, since it may have changed between the look and now. */
    add: (connection: Connection): void => {
      const { kind, id } = connection.principal
      if (kind !== 'key') return
      byKey.set(id, (byKey.get(id) ?? new Set()).add(connection))
      keys.add(id)
    },
    remove: (connection: Connection): void => {
      const { id } = connection.principal
      const others = byKey.get(id)
      others?.delete(connection)
      if (others?.size === 0) byKey.delete(id)
    },
    /** Something of a key changed. */
    changed,
    /** Something may have been missed: looks at every key. */
    all: (): void => {
      for (const id of byKey.keys()) keys.add(id)
    },
    /** Looks at everything once a minute until the signal is aborted. */
    run: async (): Promise<void> => {
      while (!signal.aborted) {
        await sleep(clock, everyMs, signal)
        for (const id of byKey.keys()) changed(id)
        try {
          for (const connection of connections) await checkToken(connection)
          await checkScopes()
        } catch (error) {
          log.warn({ err: error }, 'realtime: credentials could not be looked at and are in a minute')
        }
      }
    },
  }
}

const kindOf = ({ projectId, worldId }: ScopeIds): ScopeKind =>
  worldId !== '' ? 'world' : projectId !== '' ? 'project' : 'organization'

const differ = (a: readonly string[], b: readonly string[]): boolean => a.join('\n') !== b.join('\n')
