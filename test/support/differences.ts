import { readApiConfig } from '#api/config.ts'
import type { Database } from '#api/platform/database/client.ts'
import { diagnose } from '#api/sync/doctor/diagnosis.ts'
import { readSnapshot } from '#api/sync/doctor/snapshot.ts'
import type { Transport } from '#shared/kube/transport.ts'
import { scalingProfiles } from '#shared/scalingProfiles.ts'
import { apiSecrets, rootApiKey } from './processes.ts'

/** The time for which each pending push is said to have waited, so that it counts as a difference. */
const pendingSeconds = 1e6

/** Returns the differences that `orrery doctor` finds in a namespace. A pending push is one of them. */
export const readDifferences = async (options: {
  readonly db: Database
  readonly transport: Transport
  readonly databaseUrl: string
  readonly url: string
  readonly namespace: string
}): Promise<string[]> => {
  const { db, transport, namespace } = options
  const { limits: defaultLimits, ...settings } = readApiConfig({
    ORRERY_DATABASE_URL: options.databaseUrl,
    ORRERY_ROOT_API_KEY: rootApiKey,
    ORRERY_PUBLIC_URL: options.url,
    ...apiSecrets(),
  })
  const place = { cluster: 'default', namespacePrefix: 'orrery' }
  // Each replica of a test has a URL of its own, so the policy that names the API is not compared.
  const kept = { ...settings, publicUrl: undefined }
  const snapshot = await readSnapshot({
    db,
    transport,
    ...place,
    defaultLimits,
    profiles: scalingProfiles,
    settings: kept,
  })
  const isHere = (each: { namespace: string }): boolean => each.namespace === namespace
  return diagnose({
    rows: snapshot.rows
      .filter(isHere)
      .map((row) => ({ ...row, dirtySeconds: row.dirtySeconds === undefined ? undefined : pendingSeconds })),
    resources: snapshot.resources.filter(isHere),
    pods: snapshot.pods?.filter(isHere),
    namespaces: snapshot.namespaces.filter(({ name }) => name === namespace),
    definitions: snapshot.definitions,
    // The policies of test clusters have a pattern of prefixes.
    admission: undefined,
  }).map(({ subject, text }) => `${subject}: ${text}`)
}
