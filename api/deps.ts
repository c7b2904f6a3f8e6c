import { createRecentCounts } from '#api/platform/database/recentCounts.ts'
import type { ApiConfig } from './config.ts'
import type { Deps } from './domain/access/context.ts'
import { createIssuer } from './domain/access/issuer.ts'
import { createTokenVerifier } from './domain/access/token.ts'
import { ancestorOf, createCredentialReader, createKeyLookup, grantToKey } from './domain/apiKeys/lookup.ts'
import { readWorldBots } from './domain/bots/live.ts'
import { createLimitCache } from './domain/organizations/limits.ts'
import { createScopeLookup } from './domain/scopes.ts'
import { createSignIns } from './domain/signIn/issuers.ts'
import { createKeyStore } from './domain/users/tokens.ts'
import type { ClusterDirectory } from './domain/worlds/place.ts'
import { createRecentNames } from './platform/audit/recentNames.ts'
import { createKeyCache } from './platform/auth/keyCache.ts'
import { createKeyUsage } from './platform/auth/keyUsage.ts'
import { createTokenCache } from './platform/auth/tokenCache.ts'
import { createLargeReads } from './platform/database/largeReads.ts'
import { createAttemptGate } from './platform/fairness/attemptGate.ts'
import { createBudget } from './platform/fairness/budget.ts'
import { createShares } from './platform/fairness/shares.ts'
import { createLogSlots } from './platform/logs/slots.ts'
import { platformKeyIdOf } from './platform/secrets/apiKey.ts'
import { createSealer } from './platform/secrets/seal.ts'

type Parts = Pick<Deps, 'db' | 'clock' | 'newId' | 'log' | 'objects' | 'logs' | 'profiles' | 'wakeSync'> & {
  readonly clusters: ClusterDirectory
}
type Settings = Pick<
  ApiConfig,
  | 'publicUrl'
  | 'allowedOrigins'
  | 'rootApiKey'
  | 'previousRootApiKey'
  | 'keyPeppers'
  | 'keepDeletedMs'
  | 'encryptionKeys'
  | 'limits'
  | 'rateLimits'
  | 'inFlightLimits'
  | 'logLimits'
  | 'namespacePrefix'
  | 'hostPorts'
  | 'offersRoutes'
  | 'supportedProviders'
  | 'issuers'
  | 'maxOrganizationsPerKey'
  | 'database'
  | 'areWebhooksOn'
>

/** The longest time that a request waits for the earlier ones of its organization. */
const maxRequestWaitMs = 15_000
/** The number of requests of an organization that may wait. */
const maxWaitingRequests = 1_000

/** Builds the dependencies of the service functions from the resources of the process and its configuration. */
export const createDeps = ({ clusters, ...parts }: Parts, config: Settings): Deps => {
  const { db, clock } = parts
  const sealer = createSealer(config.encryptionKeys)
  const platformKeys = [config.rootApiKey, config.previousRootApiKey].filter((each) => each !== undefined)
  const platformKeyIds = platformKeys.flatMap((key) => config.keyPeppers.map((pepper) => platformKeyIdOf(key, pepper)))
  const readCredentials = createCredentialReader(db, clock.now, new Set(platformKeyIds))
  const defaultLimits = config.limits
  const issuer = createIssuer({ store: createKeyStore(db, clock.now), sealer, clock, url: config.publicUrl })
  const tokens = createTokenCache({ clock, read: readCredentials })
  const verifyToken = createTokenVerifier({ issuer, external: config.issuers, clock, confirm: tokens.confirm })
  return {
    ...parts,
    publicUrl: config.publicUrl,
    sealer,
    peppers: config.keyPeppers,
    keys: createKeyCache({ clock, peppers: config.keyPeppers, find: createKeyLookup(db, clock.now) }),
    tokens,
    verifyToken,
    loadIssuerKeys: verifyToken.loadKeys,
    keyUsage: createKeyUsage(),
    readCredentials,
    maxOrganizationsPerKey: config.maxOrganizationsPerKey,
    logSlots: createLogSlots(config.logLimits),
    namespacePrefix: config.namespacePrefix,
    issuer,
    externalIssuers: config.issuers.map(({ issuer, organizations }) => ({ issuer, organizations })),
    signIns: createSignIns(config.issuers, [config.publicUrl, ...config.allowedOrigins], parts),
    defaultLimits,
    hostPorts: config.hostPorts,
    offersRoutes: config.offersRoutes,
    startsPerMinute: config.rateLimits.startsPerMinute,
    keepDeletedMs: config.keepDeletedMs,
    cachedLimits: createLimitCache({ ...parts, defaultLimits }),
    recentAudits: createRecentNames(clock),
    recentCounts: createRecentCounts(clock),
    wakeGate: createAttemptGate(clock),
    connectionCounts: new Map(),
    runRequest: createShares(clock, {
      // An organization whose requests wait for locks leaves half of the pool to the others.
      maxConcurrent: Math.max(1, Math.floor(config.database.poolSize / 2)),
      maxWaiting: maxWaitingRequests,
      maxWaitMs: maxRequestWaitMs,
    }),
    inFlight: createBudget(config.inFlightLimits),
    runLargeRead: createLargeReads(clock),
    runBulk: createShares(clock, { maxConcurrent: 1, maxWaiting: 0, maxWaitMs: 0 }),
    areWebhooksOn: config.areWebhooksOn,
    supportedProviders: config.supportedProviders,
    clusterOf: clusters.clusterOf,
    clusterNames: clusters.names,
    scopeExists: createScopeLookup(db),
    grantToKey,
    ancestorOf,
    readWorldBots,
  }
}
