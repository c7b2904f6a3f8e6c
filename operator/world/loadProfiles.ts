import { type Clock, sleep } from '#shared/clock.ts'
import { createClient } from '#shared/kube/client.ts'
import { isNotFound, isRetryable } from '#shared/kube/errors.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import type { Transport } from '#shared/kube/transport.ts'
import type { Log } from '#shared/log.ts'
import { type ScalingProfiles, scalingProfiles } from '#shared/scalingProfiles.ts'
import { overrideProfiles } from './profiles.ts'

type ConfigMap = KubeObject & { data?: Record<string, string> }

const retryMs = 2_000
/** An hour: as long as the first lists may take. */
const maxAttempts = 1_800

/**
 * The profiles with what that ConfigMap says of them; without one, as they are. An API server that does not answer is
 * waited for. A ConfigMap that is absent or has faults is an error that names it and lists all faults.
 */
export const loadProfiles = async (
  transport: Transport,
  from: { readonly namespace: string; readonly name: string } | undefined,
  clock: Clock,
  log: Log,
): Promise<ScalingProfiles> => {
  if (from === undefined) return scalingProfiles
  const client = createClient<ConfigMap>(transport, {
    group: '',
    version: 'v1',
    plural: 'configmaps',
    kind: 'ConfigMap',
  })
  const where = `The ConfigMap ${from.namespace}/${from.name} of ORRERY_SCALING_PROFILES`
  for (let attempt = 1; ; attempt += 1) {
    try {
      const { value, faults } = overrideProfiles((await client.get(from)).data ?? {})
      if (faults === undefined) return value
      throw new Error(`${where} has faults:\n${faults.map((fault) => `  ${fault}`).join('\n')}`)
    } catch (error) {
      if (isNotFound(error)) throw new Error(`${where} does not exist: make it, or leave the variable out.`)
      if (!isRetryable(error) || attempt >= maxAttempts) throw error
      log.warn({ attempt, err: error }, 'the scaling profiles cannot be read yet')
      await sleep(clock, retryMs)
    }
  }
}
