import type { KubeObject } from '#shared/kube/objects.ts'
import { startSpanOf } from '#shared/resources/trace.ts'
import { noSpan, type Span, type Tracing } from '#shared/tracing/tracing.ts'

/** A resource with its revision and the one that its status describes. */
type Observed = KubeObject & {
  readonly spec: { readonly revision?: number }
  readonly status?: { readonly observedRevision?: number }
}

/** Starts the span of a reconcile that acts on a newer revision than the observed one. No other reconcile is recorded. */
export const startReconcileSpan = (tracing: Tracing, kind: string, resource: Observed): Span => {
  const { spec, status } = resource
  const isNewer = (spec.revision ?? 0) > (status?.observedRevision ?? 0)
  return isNewer ? startSpanOf(tracing, resource, `reconcile ${kind}`) : noSpan
}
