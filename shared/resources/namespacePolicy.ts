import * as z from 'zod'
import type { ObjectMeta } from '#shared/kube/objects.ts'
import { withDefined } from '#shared/optional.ts'
import { apiGroup, labels as ownLabels } from './group.ts'

/**
 * The annotations of a namespace with the policy of its pods, and with the record of an organization from which it can be restored.
 * In the namespaces of organizations only the API may write them; in others an administrator may.
 */
export const policyAnnotations = {
  limits: `${apiGroup}/limits`,
  imageRegistries: `${apiGroup}/image-registries`,
  imagePullSecrets: `${apiGroup}/image-pull-secrets`,
  serviceAccount: `${apiGroup}/service-account`,
  /** "true" in the namespace of a deleted organization. */
  closed: `${apiGroup}/closed`,
} as const

const limitsSchema = z.object({
  maxWorldCapacity: z.number(),
  maxRunningCapacity: z.number(),
  maxBotCpu: z.number(),
  maxBotMemory: z.number(),
  maxNodePorts: z.number(),
  maxLoadBalancers: z.number(),
})

/** The part of an organization that the API records in its namespace. */
type RecordedPolicy = {
  readonly limits: z.output<typeof limitsSchema>
  readonly imageRegistries: readonly string[]
  readonly imagePullSecrets: readonly string[]
  readonly serviceAccount: string
}

/** The policy of a namespace for its pods. */
export type NamespacePolicy = {
  readonly imagePullSecrets?: readonly string[]
  readonly serviceAccount?: string
  /** The organization that owns the namespace, by its label: a tenant namespace. */
  readonly organization?: string
  /** The organization was deleted: everything in the namespace is stopped, and nothing begins. */
  readonly isClosed?: true
  /** Pods may have host ports: the admission policy `orrery-host-ports` checks them in place of Pod Security. */
  readonly hostPorts?: true
}

/** The label of a namespace with the level of Pod Security that is enforced. */
export const enforceLabel = 'pod-security.kubernetes.io/enforce'

/** Returns the annotations of the namespace of an organization. One that is not deleted has the mark "false". */
export const toPolicyAnnotations = (
  policy: RecordedPolicy & { readonly isClosed: boolean },
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
}: Pick<ObjectMeta, 'annotations' | 'labels'>): NamespacePolicy =>
  withDefined({
    organization: labels[ownLabels.organization],
    isClosed: annotations[policyAnnotations.closed] === 'true' ? (true as const) : undefined,
    hostPorts: allowsHostPorts(labels) ? (true as const) : undefined,
    imagePullSecrets: splitList(annotations[policyAnnotations.imagePullSecrets]),
    serviceAccount: annotations[policyAnnotations.serviceAccount] || undefined,
  })

/** The levels of Pod Security that allow no host port. Without a label, the level is that of the cluster, by default `privileged`. */
const levelsWithoutHostPorts = ['restricted', 'baseline']

const allowsHostPorts = (labels: Readonly<Record<string, string>>): boolean =>
  labels[ownLabels.hostPorts] === 'true' && !levelsWithoutHostPorts.includes(labels[enforceLabel] ?? '')

/** Reads the limits of an organization that the API wrote to its namespace. It never throws, and leaves out what it cannot read. */
export const readRecordedLimits = ({
  annotations = {},
  labels = {},
}: Pick<ObjectMeta, 'annotations' | 'labels'>): Partial<
  RecordedPolicy['limits'] & Omit<RecordedPolicy, 'limits'> & { hostPorts: true }
> =>
  withDefined({
    ...readLimits(annotations[policyAnnotations.limits]),
    hostPorts: labels[ownLabels.hostPorts] === 'true' ? (true as const) : undefined,
    imageRegistries: splitList(annotations[policyAnnotations.imageRegistries]),
    imagePullSecrets: splitList(annotations[policyAnnotations.imagePullSecrets]),
  })

const readLimits = (text: string | undefined): Partial<RecordedPolicy['limits']> | undefined => {
  try {
    return withDefined(limitsSchema.partial().parse(JSON.parse(text ?? '')))
  } catch {
    return undefined
  }
}

const splitList = (text: string | undefined): string[] | undefined =>
  text
    ?.split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
