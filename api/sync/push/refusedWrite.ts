import { isTerminatingNamespace } from '#api/sync/namespaces/namespace.ts'
import { isQuotaUncounted } from '#api/sync/rows/synced.ts'
import { KubeError } from '#shared/kube/errors.ts'
import { askOperator } from '#shared/why/remedies.ts'

/** Reports whether the API server, a policy or a quota refuses what is written, so that the same write fails again. */
export const isRefusedWrite = (error: unknown): error is KubeError =>
  error instanceof KubeError &&
  (isUnknownField(error) || [400, 403, 413, 422].includes(error.status)) &&
  !isQuotaUncounted(error) &&
  !isTerminatingNamespace(error)

/** Reports whether the definition of the resource lacks a field. An apply is then answered with 500, and a strict patch with 400. */
const isUnknownField = ({ message }: KubeError): boolean =>
  /field not declared in schema|strict decoding error: unknown field/.test(message)

/**
 * Returns why the cluster refused a write, in fixed words for tenants. The API server's own words can name users, webhooks and
 * policies. They are only logged.
 */
export const explainRefusedWrite = (error: KubeError): string => {
  const { status, message } = error
  if (isUnknownField(error)) return `the definition of the resource is older than the API. ${askOperator}`
  if (status === 0 || status >= 500) return 'the API server does not respond.'
  if (isQuotaUncounted(error)) return 'the cluster has not counted the use of the namespace yet.'
  if (isTerminatingNamespace(error)) return 'the namespace is being deleted.'
  if (status === 403 && /(exceeded|failed) quota/.test(message)) {
    return 'the quota of the namespace has no room. Delete other worlds or bots, or ask the platform operator.'
  }
  // A policy answers 422 by default, and a webhook any status.
  if (/admission webhook|ValidatingAdmissionPolicy/.test(message)) {
    return `a policy of the cluster refuses the resource. ${askOperator}`
  }
  return byStatus[status] ?? `the cluster refused the resource. ${askOperator}`
}

const byStatus: Readonly<Record<number, string>> = {
  401: `the cluster does not know the API. ${askOperator}`,
  403: `a policy or a missing permission forbids the resource. ${askOperator}`,
  404: 'the namespace or the definition of the resource is missing.',
  422: `the cluster does not accept the resource. ${askOperator}`,
  429: 'the API server has too many requests.',
}
