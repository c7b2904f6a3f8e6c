import { isNotFound } from '#shared/kube/errors.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import { type NamespacePolicy, readPolicy } from '#shared/resources/namespacePolicy.ts'
import { ignoreError } from './objects.ts'
import type { Source } from './status.ts'

/** Returns the policy of a namespace. Reads a namespace that the cache does not show yet from the API server. */
export const findPolicy = async (
  namespaces: Source<KubeObject>,
  name: string | undefined,
  signal: AbortSignal,
): Promise<NamespacePolicy> => {
  if (name === undefined) return {}
  const namespace =
    namespaces.cache.store.get(name) ?? (await ignoreError(isNotFound, namespaces.client.get({ name }, { signal })))
  return namespace === undefined ? {} : readPolicy(namespace.metadata)
}
