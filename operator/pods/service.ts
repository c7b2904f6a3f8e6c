import type { ObjectMeta } from '#shared/kube/objects.ts'

/** A Service, as far as the operator reads it. */
export type Service = {
  apiVersion: string
  kind: string
  metadata: ObjectMeta
  spec?: { type?: string; clusterIP?: string; ports?: { port: number; protocol?: string; nodePort?: number }[] }
  status?: { loadBalancer?: { ingress?: { ip?: string; hostname?: string }[] } }
}
