import type { KubeObject, ObjectMeta } from '#shared/kube/objects.ts'
import { apiGroup, labels } from '#shared/resources/group.ts'

type Fields = Readonly<Record<string, unknown>>
type WholePod = KubeObject & { readonly spec?: object; readonly status?: object }

const pick = (from: object, names: readonly string[]): Fields => {
  const picked: Record<string, unknown> = {}
  for (const name of names) if (name in from) picked[name] = (from as Fields)[name]
  return picked
}

const listOf = (from: object, list: string): object[] => {
  const all = (from as Fields)[list]
  return Array.isArray(all) ? all : []
}

const pickEach = (from: object, list: string, names: readonly string[]): Fields =>
  list in from ? { [list]: listOf(from, list).map((each) => pick(each, names)) } : {}

const pickOwn = (from: object, map: 'labels' | 'annotations'): Fields => {
  const entries = (from as Fields)[map]
  if (typeof entries !== 'object' || entries === null) return {}
  return {
    [map]: pick(
      entries,
      Object.keys(entries).filter((key) => key.startsWith(`${apiGroup}/`) || key === labels.component),
    ),
  }
}

const pickMetadata = (metadata: ObjectMeta): Fields => ({
  ...pick(metadata, [
    'name',
    'namespace',
    'uid',
    'resourceVersion',
    'creationTimestamp',
    'deletionTimestamp',
    'finalizers',
  ]),
  ...pickOwn(metadata, 'labels'),
  ...pickOwn(metadata, 'annotations'),
  ...pickEach(metadata, 'ownerReferences', ['apiVersion', 'kind', 'name', 'uid', 'controller']),
})

const pickContainer = (container: object): Fields => {
  const { resources } = container as { resources?: { limits?: object } }
  const limits = resources?.limits === undefined ? undefined : pick(resources.limits, ['cpu', 'memory'])
  const ports = listOf(container, 'ports').filter((port) => 'hostPort' in port)
  return {
    ...pick(container, ['name', 'image']),
    ...(limits && { resources: { limits } }),
    ...(ports.length > 0 && { ports: ports.map((port) => pick(port, ['name', 'hostPort'])) }),
  }
}

const conditionTypes: readonly unknown[] = ['Ready', 'PodScheduled', 'DisruptionTarget']

const pickConditions = (status: object): Fields => {
  if (!('conditions' in status)) return {}
  const conditions = listOf(status, 'conditions').filter((each) => conditionTypes.includes((each as Fields).type))
  return pickEach({ conditions }, 'conditions', ['type', 'status', 'reason', 'message', 'lastTransitionTime'])
}

/**
 * Returns the pod with only the fields of type `Pod` and, of labels, annotations, limits and conditions, those that the
 * operator reads. The caches keep these alone: whole pods would be most of the operator's memory.
 */
export const pickCachedFields = <T extends WholePod>(pod: T): T =>
  ({
    ...pick(pod, ['apiVersion', 'kind']),
    metadata: pickMetadata(pod.metadata),
    ...(pod.spec && {
      spec: {
        ...pick(pod.spec, ['nodeName']),
        ...('containers' in pod.spec && { containers: listOf(pod.spec, 'containers').map(pickContainer) }),
      },
    }),
    ...(pod.status && {
      status: {
        ...pick(pod.status, ['phase', 'reason', 'message', 'podIP']),
        ...pickConditions(pod.status),
        ...pickEach(pod.status, 'containerStatuses', ['name', 'state']),
      },
    }),
  }) as unknown as T
