import { createIssuer } from './auth/issuer.ts'
import { createKeyCache } from './auth/keyCache.ts'
import { createKeyLookup, createKeyStore, createScopeLookup } from './auth/service.ts'
import type { ApiConfig } from './config.ts'
import type { Deps } from './context.ts'
import { createSealer } from './secrets/seal.ts'

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
  }
}
