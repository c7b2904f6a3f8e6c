import type { V1Service } from '@kubernetes/client-node'
import type { KubeObjectOf } from '#shared/kube/objects.ts'

/** A Service of the core API. */
export type Service = KubeObjectOf<V1Service>
