import type { KeyCache } from '#api/platform/auth/keyCache.ts'
import type { KeyUsage } from '#api/platform/auth/keyUsage.ts'
import type { Principal } from '#api/platform/auth/principal.ts'
import type { TokenCache } from '#api/platform/auth/tokenCache.ts'
import type { Database, Transaction } from '#api/platform/database/client.ts'
import type { Idempotency } from '#api/platform/idempotency/key.ts'
import type { ObjectStore } from '#api/platform/objects/store.ts'
import type { Sealer } from '#api/platform/secrets/seal.ts'
import type { Clock } from '#shared/clock.ts'
import type { NewId } from '#shared/ids.ts'
import type { Log } from '#shared/log.ts'
import type { TokenIssuer } from './issuer.ts'
import type { DocumentCounts, Limits } from './limits.ts'
import type { Verb } from './permissions.ts'
import type { ScopeIds, ScopeKind } from './scope.ts'

/** What verbs work with; made once a process. */
export type Deps = {
  readonly db: Database
  readonly clock: Clock
  readonly newId: NewId
  readonly log: Log
  readonly publicUrl: string
  readonly sealer: Sealer
  /** New keys are stored under the first; keys are found under each. */
  readonly peppers: readonly [string, ...string[]]
  readonly keys: KeyCache
  readonly tokens: TokenCache
  readonly keyUsage: KeyUsage
  /** Reads principals again, in the order given; undefined is not valid any more. */
  readonly readCredentials: (principals: readonly Principal[]) => Promise<(Principal | undefined)[]>
  /** How many organizations a key and the keys that descend from it may make. */
  readonly maxOrganizationsPerKey: number
  readonly issuer: TokenIssuer
  readonly objects: ObjectStore
  /** What holds for an organization for which the platform set nothing else. */
  readonly defaultLimits: Limits
  /** Returns the limits of an organization without I/O, at most about 5 s old. */
  readonly cachedLimits: (organizationId: string) => Limits
  readonly documentCounts: DocumentCounts
  /** The open connections of this replica by organization. */
  readonly connectionCounts: Map<string, number>
  /** The login providers that the platform offers. */
  readonly supportedProviders: readonly string[]
  /** The cluster that a place leads to; undefined is nowhere. */
  readonly clusterOf: (place: { group: string; region: string }) => string | undefined
  /** Whether the whole chain of ids exists and belongs together. */
  readonly scopeExists: (kind: ScopeKind, ids: ScopeIds) => Promise<boolean>
  /** Adds a permission to an API key. A principal that is no key is left as it is. */
  readonly grantToKey: (tx: Transaction, keyId: string, permission: string, now: Date) => Promise<void>
  /** Returns the first key in the chain of keys that leads to what a caller makes; null for the platform key. */
  readonly ancestorOf: (tx: Transaction, principal: Principal) => Promise<string | null>
  /** Counts the bots that a world's bot deployments want, without those that have ended. */
  readonly countLiveBots: (tx: Transaction, worldId: string) => Promise<number>
  /** Wakes the push to the cluster; called after a commit that left something dirty. */
  readonly wakeSync: () => void
}

/** What one request adds: who asks, and in which scope. A header that was not given is ''. */
export type Context = Deps & {
  readonly principal: Principal
  readonly organizationId: string
  readonly projectId: string
  readonly worldId: string
  /** The caller's strongest verb on the endpoint's scope; undefined where the endpoint names none. */
  readonly verb: Verb | undefined
  readonly idempotency: Idempotency | undefined
}
