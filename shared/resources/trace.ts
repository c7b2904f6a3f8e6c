import type { KubeObject } from '#shared/kube/objects.ts'
import { type Attributes, type Span, startChild, type Tracing } from '#shared/tracing/tracing.ts'
import { traceparentAnnotation } from './group.ts'

/** A resource whose spec has a revision: one that the API has written. */
type Revised = KubeObject & { readonly spec?: { readonly revision?: number } }

/** Returns the `traceparent` of the last traced change that the API wrote, or undefined without one. */
export const traceparentOf = ({ metadata, spec }: Revised): string | undefined =>
  spec?.revision === undefined ? undefined : metadata.annotations?.[traceparentAnnotation] || undefined

/** Starts a span as the child of the change in which the API wrote the resource. Without one, it is not recorded. */
export const startSpanOf = (
  tracing: Tracing,
  resource: Revised,
  name: string,
  { attributes = {}, ...begin }: { parent?: string | undefined; startMs?: number; attributes?: Attributes } = {},
): Span =>
  startChild(tracing, name, {
    ...begin,
    parent: begin.parent ?? traceparentOf(resource),
    kind: 'consumer',
    attributes: { 'k8s.namespace.name': resource.metadata.namespace ?? '', ...attributes },
  })
