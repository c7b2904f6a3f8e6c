import type { V1ConfigMap } from '@kubernetes/client-node'
import { type Clock, sleep } from '#shared/clock.ts'
import type { ConfigMapName } from '#shared/environment.ts'
import { createClient } from '#shared/kube/client.ts'
import { isNotFound, isRetryable } from '#shared/kube/errors.ts'
import type { KubeObjectOf } from '#shared/kube/objects.ts'
import type { Transport } from '#shared/kube/transport.ts'
import type { Log } from '#shared/log.ts'
import { overrideProfiles } from '#shared/profileOverrides.ts'
import { type ScalingProfiles, scalingProfiles } from '#shared/scalingProfiles.ts'

const retryMs = 2_000
/** The number of attempts in an hour, which is also the limit for the first lists of the caches. */
const maxAttempts = 1_800

/**
 * Returns the scaling profiles with the overrides of that ConfigMap, if one is named. Retries while the API server does
 * not answer. Throws an error that names the ConfigMap if it is absent, or lists all its errors.
 */
export const loadProfiles = async (
  transport: Transport,
  from: ConfigMapName | undefined,
  clock: Clock,
  log: Log,
): Promise<ScalingProfiles> => {
  if (from === undefined) return scalingProfiles
  const resource = { group: '', version: 'v1', plural: 'configmaps', kind: 'ConfigMap' }
  const client = createClient<KubeObjectOf<V1ConfigMap>>(transport, resource)
  const configMap = `The ConfigMap ${from.namespace}/${from.name} of ORRERY_SCALING_PROFILES`
  for (let attempt = 1; ; attempt += 1) {
    try {
      const { value, errors } = overrideProfiles((await client.get(from)).data ?? {})
      if (errors === undefined) return value
      throw new Error(`${configMap} has errors:\n${errors.map((error) => `  ${error}`).join('\n')}`)
    } catch (error) {
      if (isNotFound(error)) throw new Error(`${configMap} does not exist. Create it, or unset the variable.`)
      if (!isRetryable(error) || attempt >= maxAttempts) throw error
      log.warn({ attempt, err: error }, 'cannot read the scaling profiles yet')
      await sleep(clock, retryMs)
    }
  }
}
