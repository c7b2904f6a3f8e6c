import { type Diagnosis, seriousDiagnosis } from '#operator/pods/diagnosis.ts'
import { isConflict, isThrottled, KubeError } from '#shared/kube/errors.ts'
import { askOperator, type TroubleReason } from '#shared/why/remedies.ts'

/** Reports whether the API server understood a write and refused it, so that an immediate retry is unlikely to help. */
export const isRefusal = (error: unknown): error is KubeError => {
  if (!(error instanceof KubeError) || isConflict(error) || isThrottled(error)) return false
  if (error.status === 500) return /failed calling webhook|range is full/.test(error.message)
  return error.status === 400 || error.status === 403 || error.status === 405 || error.status === 422
}

/**
 * The refusals, recognized by the words of Kubernetes' admission plugins; the first match counts. The message names the
 * refused object.
 */
const refusals: readonly {
  readonly reason: TroubleReason
  readonly matches: (text: string, error: KubeError) => boolean
  readonly message: (object: string) => string
}[] = [
  {
    reason: 'QuotaExceeded',
    matches: (text) => /exceeded quota|failed quota|status unknown for quota/.test(text),
    message: (object) =>
      `The quota of the namespace has no room for the ${object}. Stop other worlds or bots, or ask the platform operator.`,
  },
  {
    reason: 'SizeNotAllowed',
    matches: (text) => /(maximum|minimum) \S+ usage per (Container|Pod)/.test(text),
    message: (object) =>
      `The namespace does not allow the size of the ${object}. Choose a smaller size, or ask the platform operator.`,
  },
  {
    reason: 'NodePortsExhausted',
    matches: (text) => /failed to allocate a (nodePort|HealthCheck NodePort).*range is full/.test(text),
    message: (object) =>
      `The cluster has no free node port for the ${object}. Stop another world, or ask the platform operator.`,
  },
  {
    reason: 'ClusterIPsExhausted',
    matches: (text) => text.includes('range is full'),
    message: (object) =>
      `The cluster has no free ClusterIP for the ${object}. Stop another world, or ask the platform operator.`,
  },
  {
    reason: 'NamespaceTerminating',
    matches: (text) => text.includes('because it is being terminated'),
    message: (object) => `The namespace is being deleted and does not accept the ${object}. ${askOperator}`,
  },
  {
    reason: 'NotPermitted',
    matches: (text, { status }) => status === 403 && / cannot \w+ resource /.test(text),
    message: (object) => `The operator lacks a permission for the ${object}. ${askOperator}`,
  },
  {
    reason: 'AdmissionRefused',
    matches: (text) =>
      /admission webhook|failed calling webhook|ValidatingAdmissionPolicy|violates PodSecurity|denied/.test(text),
    message: (object) => `A policy of the cluster refused the ${object}. ${askOperator}`,
  },
  {
    reason: 'Refused',
    matches: () => true,
    message: (object) => `The API server refused the ${object}. ${askOperator}`,
  },
]

/** Returns why the API server refused a write of `object`, a noun such as `server`. */
export const explainRefusal = (error: KubeError, object: string): Diagnosis => {
  // The method and path are for the log alone.
  const text = error.message.replace(/^[A-Z]+ \/\S*: /, '')
  const refusal = refusals.find(({ matches }) => matches(text, error))
  return seriousDiagnosis(refusal?.reason ?? 'Refused', refusal?.message(object) ?? '', text)
}

/** The reasons for which no pod, or no service, could be created. */
export const refusalReasons: readonly string[] = [
  ...refusals.map(({ reason }) => reason),
  'PodNameTaken',
  'RouteNameTaken',
  'ServiceNameTaken',
  'HostPortNotAllowed',
]
