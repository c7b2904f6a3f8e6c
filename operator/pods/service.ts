import type { V1Service, V1ServicePort } from '@kubernetes/client-node'
import type { KubeObjectOf } from '#shared/kube/objects.ts'

/** A Service of the core API. */
export type Service = KubeObjectOf<V1Service>

/** A port of a Service. */
export type ServicePort = V1ServicePort
