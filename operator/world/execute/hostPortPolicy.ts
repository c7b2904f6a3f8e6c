import { isRefusal } from '#operator/lifecycle/refusal.ts'
import { seriousDiagnosis } from '#operator/pods/diagnosis.ts'
import type { NewPod, Pod } from '#operator/pods/pod.ts'
import type { Clock } from '#shared/clock.ts'
import { healthPort } from '#shared/domain/ports.ts'
import type { Client } from '#shared/kube/client.ts'
import { hostPortPolicy } from '#shared/resources/hostPortPolicy.ts'
import { askOperator } from '#shared/why/remedies.ts'

/** The state of the admission policy of pods with host ports in the cluster. */
export type HostPortPolicy = {
  /**
   * Reports whether the policy refuses a bad pod. The API server was asked at most a minute ago, in the namespace of this pod or of
   * another one. Throws what refuses the pod before the policy, or that the server does not answer.
   */
  readonly isEnforced: (pod: NewPod, signal: AbortSignal) => Promise<boolean>
}

const checkEveryMs = 60_000

/** The diagnosis of a server with host ports while the policy is not enforced. */
export const hostPortPolicyMissing = seriousDiagnosis(
  'HostPortNotAllowed',
  `The cluster does not enforce the admission policy ${hostPortPolicy}, without which no server gets a host port. ${askOperator}`,
)

/** Creates a `HostPortPolicy` that has not asked yet. */
export const createHostPortPolicy = (
  pods: Pick<Client<Pod>, 'create'>,
  clock: Pick<Clock, 'monotonic'>,
): HostPortPolicy => {
  let enforcedAtMs = Number.NEGATIVE_INFINITY
  let asking: Promise<boolean> | undefined
  const ask = async (pod: NewPod, signal: AbortSignal): Promise<boolean> => {
    const askedAtMs = clock.monotonic()
    const isRefused = await refuses(pods, toBadPod(pod), signal)
    enforcedAtMs = isRefused ? askedAtMs : Number.NEGATIVE_INFINITY
    return isRefused
  }
  return {
    isEnforced: async (pod, signal) => {
      if (clock.monotonic() - enforcedAtMs < checkEveryMs) return true
      // A failure for another pod says nothing about this one, and may name another tenant.
      if (asking !== undefined && (await asking.catch(() => false))) return true
      const own = ask(pod, signal).finally(() => {
        if (asking === own) asking = undefined
      })
      asking = own
      return own
    },
  }
}

/**
 * Returns the pod with a probe of another host. The policy refuses it everywhere, Pod Security only from version 1.34 on, so that the
 * answer does not depend on the level of the namespace.
 */
const toBadPod = (pod: NewPod): NewPod => {
  const probe = { httpGet: { host: '127.0.0.1', path: '/', port: healthPort } }
  return {
    ...pod,
    spec: { ...pod.spec, containers: pod.spec.containers.map((each) => ({ ...each, readinessProbe: probe })) },
  }
}

const refuses = async (pods: Pick<Client<Pod>, 'create'>, pod: NewPod, signal: AbortSignal): Promise<boolean> => {
  try {
    await pods.create(pod, { dryRun: true, signal })
    return false
  } catch (error) {
    if (isRefusal(error) && error.message.includes(`'${hostPortPolicy}'`)) return true
    throw error
  }
}
