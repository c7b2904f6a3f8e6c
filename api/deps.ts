import type { ApiConfig } from './config.ts'
import type { Deps } from './domain/access/context.ts'
import { createIssuer } from './domain/access/issuer.ts'
import { createKeyLookup, grantToKey } from './domain/apiKeys/lookup/service.ts'
import { countLiveBots } from './domain/bots/service.ts'
import { createScopeLookup } from './domain/scopes/service.ts'
import { createKeyStore } from './domain/users/service.ts'
import { createKeyCache } from './platform/auth/keyCache.ts'
import { createSealer } from './platform/secrets/seal.ts'

type Parts = Pick<Deps, 'db' | 'clock' | 'newId' | 'log' | 'objects' | 'wakeSync'>
type Settings = Pick<
  ApiConfig,
  'publicUrl' | 'keyPepper' | 'encryptionKeys' | 'limits' | 'cluster' | 'supportedProviders'
>

/** What verbs work with, made of what the process has opened and what the configuration says. */
export const createDeps = (parts: Parts, config: Settings): Deps => {
  const { db, clock } = parts
  const sealer = createSealer(config.encryptionKeys)
  const { name, places } = config.cluster
  return {
    ...parts,
    publicUrl: config.publicUrl,
    sealer,
    pepper: config.keyPepper,
    keys: createKeyCache({ clock, pepper: config.keyPepper, find: createKeyLookup(db) }),
    issuer: createIssuer({ store: createKeyStore(db, clock.now), sealer, clock, url: config.publicUrl }),
    defaultLimits: config.limits,
    supportedProviders: config.supportedProviders,
    clusterOf: ({ group, region }) =>
      places.some((place) => place.group === group && place.region === region) ? name : undefined,
    scopeExists: createScopeLookup(db),
    grantToKey,
    countLiveBots,
  }
}
