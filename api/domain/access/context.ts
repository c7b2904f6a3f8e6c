import type { RecentNames } from '#api/platform/audit/recentNames.ts'
import type { CredentialHeader } from '#api/platform/auth/authenticate.ts'
import type { KeyCache } from '#api/platform/auth/keyCache.ts'
import type { KeyUsage } from '#api/platform/auth/keyUsage.ts'
import type { Principal } from '#api/platform/auth/principal.ts'
import type { TokenCache } from '#api/platform/auth/tokenCache.ts'
import type { Database, Transaction } from '#api/platform/database/client.ts'
import type { RunLargeRead } from '#api/platform/database/largeReads.ts'
import type { RecentCounts } from '#api/platform/database/recentCounts.ts'
import type { AttemptGate } from '#api/platform/fairness/attemptGate.ts'
import type { Budget, Lease } from '#api/platform/fairness/budget.ts'
import type { RunInShare } from '#api/platform/fairness/shares.ts'
import type { Revision } from '#api/platform/http/entityTag.ts'
import type { Idempotency } from '#api/platform/idempotency/key.ts'
import type { ClusterLogs } from '#api/platform/logs/clusterLogs.ts'
import type { LogSlots } from '#api/platform/logs/slots.ts'
import type { ObjectStore } from '#api/platform/objects/store.ts'
import type { OpenIdClient } from '#api/platform/openId/client.ts'
import type { Sealer } from '#api/platform/secrets/seal.ts'
import type { Clock } from '#shared/clock.ts'
import type { WorldBots } from '#shared/domain/botUse.ts'
import type { HostPorts } from '#shared/domain/hostPorts.ts'
import type { Verb } from '#shared/domain/permissions.ts'
import type { NewId } from '#shared/ids.ts'
import type { Log } from '#shared/log.ts'
import type { ScalingProfiles } from '#shared/scalingProfiles.ts'
import type { TokenIssuer } from './issuer.ts'
import type { Limits } from './limits.ts'
import type { ScopeIds, ScopeKind } from './scope.ts'
import type { ExternalIssuer } from './token.ts'

/** The sign-in of people at an external issuer. */
export type SignIn = Pick<ExternalIssuer, 'issuer' | 'audience' | 'organizations'> &
  Pick<NonNullable<ExternalIssuer['signIn']>, 'name' | 'token'> & {
    /** The part of the redirect URIs that names the issuer. */
    readonly id: string
    /** The addresses of the console to which the issuer may send a browser back. No other issuer has them. */
    readonly redirectUris: readonly string[]
    readonly client: OpenIdClient
  }

/** The dependencies of service functions, created once per process. */
export type Deps = {
  readonly db: Database
  readonly clock: Clock
  readonly newId: NewId
  /** The time for which deleted rows are kept. */
  readonly keepDeletedMs: number
  readonly log: Log
  readonly publicUrl: string
  readonly sealer: Sealer
  /** New keys are stored under the first pepper. Look-ups try every pepper. */
  readonly peppers: readonly [string, ...string[]]
  readonly keys: KeyCache
  readonly tokens: TokenCache
  readonly keyUsage: KeyUsage
  /** Reads the current state of principals, in the given order. An invalid credential yields undefined. */
  readonly readCredentials: (principals: readonly Principal[]) => Promise<(Principal | undefined)[]>
  /** The maximum number of organizations that a key and the keys that it created may create. */
  readonly maxOrganizationsPerKey: number
  readonly issuer: TokenIssuer
  /** Verifies a Bearer token, as for each request. Returns undefined for an invalid one. */
  readonly verifyToken: (token: string) => Promise<Principal | undefined>
  /** Loads the keys of an external issuer if none are known. Throws a 503 if they cannot be fetched. */
  readonly loadIssuerKeys: (issuer: string) => Promise<void>
  /** The external issuers whose tokens are accepted. */
  readonly externalIssuers: readonly Pick<ExternalIssuer, 'issuer' | 'organizations'>[]
  /** The issuers with which people sign in to the console, by the issuer. */
  readonly signIns: ReadonlyMap<string, SignIn>
  readonly objects: ObjectStore
  /** The logs of pods, from the operators. */
  readonly logs: ClusterLogs
  /** The logs that this replica reads for clients. */
  readonly logSlots: LogSlots
  readonly namespacePrefix: string
  /** The limits of an organization without limits of its own. */
  readonly defaultLimits: Limits
  /** The host ports that worlds may use. */
  readonly hostPorts: HostPorts
  /** True if the platform has a Gateway for worlds with the strategy Route. */
  readonly offersRoutes: boolean
  /** The starts of a world per minute, by everyone but the platform key. */
  readonly startsPerMinute: number
  /** Returns the limits of an organization without I/O, at most about 5 s old. */
  readonly cachedLimits: (organizationId: string) => Limits
  /** Names of the audit records of this minute, for requests that are recorded once per minute. */
  readonly recentAudits: RecentNames
  /** Counts of worlds of the last seconds, for the explanations of worlds. */
  readonly recentCounts: RecentCounts
  /** Runs the wakes of a world, one at a time on this replica. */
  readonly wakeGate: AttemptGate
  /** The open connections of this replica by organization. */
  readonly connectionCounts: Map<string, number>
  /** Runs a request of an organization in its share of the database connections of this replica. */
  readonly runRequest: RunInShare
  /** The bytes of request bodies, responses and snapshots in memory. */
  readonly inFlight: Budget
  /** Runs a read of many or large rows, one of each organization at a time on this replica. */
  readonly runLargeRead: RunLargeRead
  /** Runs a bulk action, one of each organization at a time on this replica. */
  readonly runBulk: RunInShare
  /** False if the platform has switched webhooks off. */
  readonly areWebhooksOn: boolean
  /** The login providers that the platform offers. */
  readonly supportedProviders: readonly string[]
  /** Returns the name of the cluster that serves a group and region, or undefined if none does. */
  readonly clusterOf: (place: { group: string; region: string }) => string | undefined
  readonly clusterNames: () => readonly string[]
  /** Reports whether every id of the scope exists under the one above it. A scope that is being deleted does not exist. */
  readonly scopeExists: (kind: ScopeKind, ids: ScopeIds) => Promise<boolean>
  /** Adds a permission to an API key. Does nothing if no key has this id. */
  readonly grantToKey: (tx: Transaction, keyId: string, permission: string, now: Date) => Promise<void>
  /** Returns the id of the first key in the caller's chain of keys, or null for the platform key. */
  readonly ancestorOf: (tx: Transaction, principal: Principal) => Promise<string | null>
  /** Returns the bots of a world. */
  readonly readWorldBots: (tx: Transaction, worldId: string) => Promise<WorldBots>
  /** The resources of the scaling profiles, as the platform has set them. */
  readonly profiles: ScalingProfiles
  /** Wakes the push to the cluster. Call it after a commit that wrote dirty marks. */
  readonly wakeSync: () => void
}

/** The dependencies with the principal and the scope of one request. The id of a missing scope header is ''. */
export type Context = Deps & {
  readonly principal: Principal
  /** Returns the header with the credential of the request. It is a secret. */
  readonly credentialHeader: () => CredentialHeader | undefined
  readonly organizationId: string
  readonly projectId: string
  readonly worldId: string
  /** The caller's strongest verb on the endpoint's scope; undefined if the endpoint declares no scope. */
  readonly verb: Verb | undefined
  readonly idempotency: Idempotency | undefined
  /** Throws a 412 if a precondition of the request does not hold. It locks the resource. */
  readonly checkConditions: (tx: Transaction) => Promise<void>
  /** The bytes that the request holds in memory, until its response has been sent. */
  readonly lease: Lease
  /** The `traceparent` of the request's span, if the request is traced. Dirty marks carry it to the cluster. */
  readonly traceparent?: string | undefined
  /** Counts a start or stop against the rate limit of this replica for a world of the organization. Throws a 429 above it. */
  readonly countStart: (projectId: string, worldId: string) => void
  /**
   * Counts a request to an issuer, and a failed credential, which the returned function takes back. Throws a 429 above a limit of the
   * client address or of the issuer.
   */
  readonly countSignIn: (kind: 'sign-ins' | 'renewals', issuer: string) => () => void
  /** Counts the bytes of a written document against the rate of the organization. Throws a 429 above it. */
  readonly countDocumentBytes: (bytes: number) => void
  /** Counts the bytes of restored documents. Throws a 429 while earlier restores exceed the rate of the organization. */
  readonly countRestoredBytes: (bytes: number) => void
  /**
   * Writes an audit record of the request, in a transaction if one is given. Requests that change a
   * row are audited automatically. Call this only for events that change no row. Never pass a secret.
   */
  readonly recordAudit: (entry?: AuditEntry, db?: Database | Transaction) => Promise<void>
}

/** Locks the resource of a path until the transaction ends, and returns its revision. Returns undefined if there is none. */
export type LockRevision = (
  tx: Transaction,
  ctx: Context,
  params: Readonly<Record<string, string>>,
) => Promise<Revision | undefined>

/** The part of an audit record that a service function chooses. */
export type AuditEntry = {
  /** Default: the caller. */
  readonly actor?: Principal
  /** Default: the operationId of the request. */
  readonly action?: string
  /** The ids or names of the resources. Default in a writing request: those of the path and those that it created. */
  readonly resources?: readonly string[]
  /** JSON Pointers, without values. Default in a writing request: the fields of its body. */
  readonly fields?: readonly string[]
  /** Default: the organization of the request. */
  readonly organizationId?: string
}
