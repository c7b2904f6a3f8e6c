import type { Condition, KubeObject } from '#shared/kube/objects.ts'

/** The Gateway that a route attaches to, and the listener. */
export type ParentRef = {
  readonly group?: string
  readonly kind?: string
  readonly namespace?: string | undefined
  readonly name: string
  readonly sectionName?: string | undefined
}

/** An HTTPRoute of Gateway API, as far as the operator reads it and its cache keeps it. */
export type HttpRoute = KubeObject & {
  spec?: object
  status?: {
    /** The answers of controllers: at most 32 entries. */
    parents?: { readonly parentRef: ParentRef; readonly conditions?: readonly Condition[] }[]
  }
}

/** An HTTPRoute to create. */
export type NewRoute = HttpRoute & { readonly spec: object }

/** Returns the part of a route that the cache keeps. */
export const pickRoute = ({ apiVersion, kind, metadata, spec, status }: HttpRoute): HttpRoute => {
  const { managedFields: _, annotations: __, ...kept } = metadata
  return {
    apiVersion,
    kind,
    metadata: kept,
    ...(spec && { spec }),
    ...(status && { status: { ...(status.parents && { parents: status.parents }) } }),
  }
}
