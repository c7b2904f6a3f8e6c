import * as z from 'zod'
import type { BotLimits } from '#shared/domain/botUse.ts'
import type { ObjectMeta } from '#shared/kube/objects.ts'
import { withDefined } from '#shared/optional.ts'
import { apiGroup, labels as ownLabels } from './group.ts'

/**
 * The annotations with which the API passes the limits of an organization to the operator. In the namespaces of organizations
 * only the API may write them; in others an administrator may.
 */
export const policyAnnotations = {
  limits: `${apiGroup}/limits`,
  imageRegistries: `${apiGroup}/image-registries`,
  imagePullSecrets: `${apiGroup}/image-pull-secrets`,
  serviceAccount: `${apiGroup}/service-account`,
  /** "true" in the namespace of a deleted organization. */
  closed: `${apiGroup}/closed`,
} as const

/** The limits that the operator checks before it creates pods. */
export type StartLimits = BotLimits & {
  readonly maxWorldCapacity: number
  readonly maxRunningCapacity: number
  readonly maxNodePorts?: number | undefined
  readonly maxLoadBalancers?: number | undefined
}

const limitsSchema = z.object({
  maxWorldCapacity: z.number(),
  maxRunningCapacity: z.number(),
  // Older versions of the API do not write them.
  maxBotCpu: z.number().optional(),
  maxBotMemory: z.number().optional(),
  maxNodePorts: z.number().optional(),
  maxLoadBalancers: z.number().optional(),
})

/** The policy of a namespace. What is absent is not limited, and the operator's own settings apply. */
export type NamespacePolicy = {
  readonly limits?: StartLimits
  readonly imageRegistries?: readonly string[]
  readonly imagePullSecrets?: readonly string[]
  readonly serviceAccount?: string
  /** The organization that owns the namespace, by its label: a tenant namespace. */
  readonly organization?: string
  /** The organization was deleted: everything in the namespace is stopped, and nothing begins. */
  readonly isClosed?: true
  /** True if the annotation of the limits cannot be read. No pod is created then. */
  readonly isInvalid?: true
}

/** Returns the annotations of a policy. An organization that is not deleted has the mark "false". */
export const toPolicyAnnotations = (
  policy: Required<Omit<NamespacePolicy, 'isInvalid' | 'organization' | 'isClosed'>> & { readonly isClosed: boolean },
): Record<string, string> => ({
  [policyAnnotations.limits]: JSON.stringify(limitsSchema.parse(policy.limits)),
  [policyAnnotations.imageRegistries]: policy.imageRegistries.join(','),
  [policyAnnotations.imagePullSecrets]: policy.imagePullSecrets.join(','),
  [policyAnnotations.serviceAccount]: policy.serviceAccount,
  [policyAnnotations.closed]: String(policy.isClosed),
})

/** Reads the policy of a namespace. It never throws. */
export const readPolicy = ({
  annotations = {},
  labels = {},
}: Pick<ObjectMeta, 'annotations' | 'labels'>): NamespacePolicy => {
  const limits = readLimits(annotations[policyAnnotations.limits])
  const tenancy = withDefined({
    organization: labels[ownLabels.organization],
    isClosed: annotations[policyAnnotations.closed] === 'true' ? (true as const) : undefined,
  })
  if (limits === 'invalid') return { ...tenancy, isInvalid: true }
  return withDefined({
    ...tenancy,
    limits,
    imageRegistries: splitList(annotations[policyAnnotations.imageRegistries]),
    imagePullSecrets: splitList(annotations[policyAnnotations.imagePullSecrets]),
    serviceAccount: annotations[policyAnnotations.serviceAccount] || undefined,
  })
}

const readLimits = (text: string | undefined): StartLimits | 'invalid' | undefined => {
  if (text === undefined) return undefined
  try {
    return limitsSchema.parse(JSON.parse(text))
  } catch {
    return 'invalid'
  }
}

const splitList = (text: string | undefined): string[] | undefined =>
  text
    ?.split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
