import type { ApiConfig } from './config.ts'
import type { Deps } from './domain/access/context.ts'
import { createIssuer } from './domain/access/issuer.ts'
import { ancestorOf, createCredentialReader, createKeyLookup, grantToKey } from './domain/apiKeys/lookup/service.ts'
import { countLiveBots } from './domain/bots/service.ts'
import { createDocumentCounts } from './domain/documents/usage/service.ts'
import { createLimitCache } from './domain/organizations/limits/service.ts'
import { createScopeLookup } from './domain/scopes/service.ts'
import { createKeyStore } from './domain/users/service.ts'
import { createKeyCache } from './platform/auth/keyCache.ts'
import { createKeyUsage } from './platform/auth/keyUsage.ts'
import { createTokenCache } from './platform/auth/tokenCache.ts'
import { createSealer } from './platform/secrets/seal.ts'

type Parts = Pick<Deps, 'db' | 'clock' | 'newId' | 'log' | 'objects' | 'wakeSync'>
type Settings = Pick<
  ApiConfig,
  'publicUrl' | 'keyPeppers' | 'encryptionKeys' | 'limits' | 'cluster' | 'supportedProviders' | 'maxOrganizationsPerKey'
>

/** Builds the dependencies of the verbs from the resources of the process and its configuration. */
export const createDeps = (parts: Parts, config: Settings): Deps => {
  const { db, clock } = parts
  const sealer = createSealer(config.encryptionKeys)
  const readCredentials = createCredentialReader(db, clock.now)
  const { name, places } = config.cluster
  const defaultLimits = config.limits
  return {
    ...parts,
    publicUrl: config.publicUrl,
    sealer,
    peppers: config.keyPeppers,
    keys: createKeyCache({ clock, peppers: config.keyPeppers, find: createKeyLookup(db, clock.now) }),
    tokens: createTokenCache({ clock, read: readCredentials }),
    keyUsage: createKeyUsage(),
    readCredentials,
    maxOrganizationsPerKey: config.maxOrganizationsPerKey,
    issuer: createIssuer({ store: createKeyStore(db, clock.now), sealer, clock, url: config.publicUrl }),
    defaultLimits,
    cachedLimits: createLimitCache({ ...parts, defaultLimits }),
    documentCounts: createDocumentCounts(parts),
    connectionCounts: new Map(),
    supportedProviders: config.supportedProviders,
    clusterOf: ({ group, region }) =>
      places.some((place) => place.group === group && place.region === region) ? name : undefined,
    scopeExists: createScopeLookup(db),
    grantToKey,
    ancestorOf,
    countLiveBots,
  }
}
