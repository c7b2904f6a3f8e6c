import { isConflict, isThrottled, KubeError } from '#shared/kube/errors.ts'

/** Why something is not as it should be: a CamelCase word for programs and a sentence for people. */
export type Diagnosis = {
  readonly reason: string
  readonly message: string
  /** Waiting alone may not mend it: somebody should look. */
  readonly serious: boolean
}

/** What somebody should look at. */
export const serious = (reason: string, message: string): Diagnosis => ({ reason, message, serious: true })

/** Whether the API server understood a write and would not have it, so that repeating it as it is needs luck. */
export const isRefusal = (error: unknown): error is KubeError => {
  if (!(error instanceof KubeError) || isConflict(error) || isThrottled(error)) return false
  if (error.status === 500) return error.message.includes('failed calling webhook')
  return error.status === 400 || error.status === 403 || error.status === 405 || error.status === 422
}

/** Why the API server refused a write; the words are those of Kubernetes' admission plugins. */
export const explainRefusal = (error: KubeError, what: string): Diagnosis => {
  // The request that the error names first is for the log alone.
  const text = error.message.replace(/^[A-Z]+ \/\S*: /, '')
  if (/exceeded quota|failed quota|status unknown for quota/.test(text)) {
    return serious('QuotaExceeded', `the quota of the namespace leaves no room for ${what}: ${text}`)
  }
  if (/because it is being terminated/.test(text)) {
    return serious('NamespaceTerminating', `the namespace is being deleted and takes no ${what}: ${text}`)
  }
  if (error.status === 403 && / cannot \w+ resource /.test(text)) {
    return serious('NotPermitted', `the operator may not do this, and needs a role that allows it: ${text}`)
  }
  if (/admission webhook|failed calling webhook|ValidatingAdmissionPolicy|violates PodSecurity|denied/.test(text)) {
    return serious('AdmissionRefused', `a policy of the cluster refused ${what}: ${text}`)
  }
  return serious('Refused', `the API server refused ${what}: ${text}`)
}

/** The reasons of `explainRefusal` and of a name that a stranger holds: no pod could be made. */
export const refusalReasons: readonly string[] = [
  'QuotaExceeded',
  'NamespaceTerminating',
  'NotPermitted',
  'AdmissionRefused',
  'Refused',
  'PodNameTaken',
]
