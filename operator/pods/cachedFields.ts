import type { KubeObject } from '#shared/kube/objects.ts'

type Fields = Readonly<Record<string, unknown>>
type WholePod = KubeObject & { readonly spec?: object; readonly status?: object }

const pick = (from: object, names: readonly string[]): Fields =>
  Object.fromEntries(names.flatMap((name) => (name in from ? [[name, (from as Fields)[name]]] : [])))

const pickEach = (from: object, list: string, names: readonly string[]): Fields => {
  const all = (from as Fields)[list]
  return Array.isArray(all) ? { [list]: all.map((each: object) => pick(each, names)) } : {}
}

/**
 * Returns the pod with only the fields of type `Pod`. The caches keep these alone: whole pods would be most of the
 * operator's memory.
 */
export const pickCachedFields = <T extends WholePod>(pod: T): T =>
  ({
    ...pick(pod, ['apiVersion', 'kind', 'metadata']),
    ...(pod.spec && {
      spec: { ...pick(pod.spec, ['nodeName']), ...pickEach(pod.spec, 'containers', ['name', 'image', 'resources']) },
    }),
    ...(pod.status && {
      status: {
        ...pick(pod.status, ['phase', 'reason', 'message', 'podIP', 'conditions']),
        ...pickEach(pod.status, 'containerStatuses', ['name', 'state']),
      },
    }),
  }) as T
