import type { KubeObject, ObjectMeta } from '#shared/kube/objects.ts'
import { apiGroup } from './group.ts'
import type { Lenient } from './lenient.ts'

const ownPrefixes = [`${apiGroup}/`, 'app.kubernetes.io/']

const ownEntries = (map: Record<string, string> | undefined): Record<string, string> =>
  Object.fromEntries(Object.entries(map ?? {}).filter(([key]) => ownPrefixes.some((prefix) => key.startsWith(prefix))))

/** Drops the Kubernetes labels and annotations of others: a user may write 256 KiB of them to each resource. */
const ownMetadata = (metadata: ObjectMeta): ObjectMeta => ({
  ...metadata,
  ...(metadata.labels && { labels: ownEntries(metadata.labels) }),
  ...(metadata.annotations && { annotations: ownEntries(metadata.annotations) }),
})

/** The part of a resource that both processes cache: all but the Kubernetes labels and annotations of others. */
export const withOwnMetadata = <T extends KubeObject>(resource: T): T => ({
  ...resource,
  metadata: ownMetadata(resource.metadata),
})

/** The part of a namespace that both processes cache: the labels and annotations of the product, and the labels of Pod Security. */
export const ownNamespace = (namespace: KubeObject): KubeObject => {
  const labels = Object.entries(namespace.metadata.labels ?? {}).filter(([key]) => key.startsWith(podSecurityPrefix))
  const { metadata } = withOwnMetadata(namespace)
  return { ...namespace, metadata: { ...metadata, labels: { ...metadata.labels, ...Object.fromEntries(labels) } } }
}

const podSecurityPrefix = 'pod-security.kubernetes.io/'

/**
 * The part of a resource that the operator caches, with the canonical spec that `readSpec` returns. The operator reads neither texts
 * for people nor the owner's own metadata.
 */
export const operatorPart = <T extends KubeObject & { spec: object }>(
  resource: T,
  readSpec: (spec: unknown) => Lenient<T['spec']>,
): T => {
  const { value } = readSpec({ ...resource.spec, displayName: '', description: '', metadata: noMetadata })
  return { ...withOwnMetadata(resource), spec: { ...value, metadata: noMetadata } }
}

/** One object for all resources: parsing makes new ones. */
const noMetadata = { annotations: {}, labels: {} }
