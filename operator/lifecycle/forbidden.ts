import { type Diagnosis, seriousDiagnosis } from '#operator/pods/diagnosis.ts'
import type { NamespacePolicy } from '#shared/resources/namespacePolicy.ts'
import { askOperator } from '#shared/resources/remedies.ts'
import { hasUnconfirmedId, type Identified } from '#shared/resources/resourceId.ts'

/** The delay after which a forbidden pod is planned again. A change of the policy triggers a reconcile earlier. */
export const forbiddenRetryMs = 15_000

/** Returns why a policy forbids every pod, or undefined if it does not. */
export const explainInvalidPolicy = ({ isInvalid }: NamespacePolicy): Diagnosis | undefined =>
  isInvalid
    ? seriousDiagnosis('PolicyInvalid', `The limits of the namespace cannot be read. ${askOperator}`)
    : undefined

/**
 * Returns why a resource whose name is an id gets no pod in the namespace of an organization, or undefined if it may. The API
 * confirms the id with a revision. The name may be the id of another organization's resource.
 */
export const explainUnconfirmedId = (
  resource: Identified,
  kind: 'world' | 'bot',
  { limits }: NamespacePolicy,
): Diagnosis | undefined =>
  limits !== undefined && hasUnconfirmedId(resource, kind)
    ? seriousDiagnosis(
        'IdNotConfirmed',
        'The name is an id that the API has not confirmed. Wait for its adoption, or choose a name that is no id.',
      )
    : undefined
