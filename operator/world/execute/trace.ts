import { startReconcileSpan } from '#operator/lifecycle/execute/trace.ts'
import { startSpanOf } from '#shared/resources/trace.ts'
import type { World, WorldRun, WorldStatus } from '#shared/resources/world.ts'
import { noSpan, type Span, type Tracing } from '#shared/tracing/tracing.ts'

/** The spans of one reconcile. They belong to the trace of the request that started the run. */
export type WorldTrace = {
  readonly span: Span
  /** Starts the span of the creation of a run's first pod. */
  readonly startPod: (run: WorldRun) => Span
  /** Records the time from the start of a run until its first server is Ready. */
  readonly recordReady: (status: WorldStatus) => void
}

const noTrace: WorldTrace = { span: noSpan, startPod: () => noSpan, recordReady: () => undefined }

/** Traces one reconcile. Restarts of a server, which no request causes, are not recorded. */
export const traceWorld = (tracing: Tracing, world: World): WorldTrace => {
  if (!tracing.isOn) return noTrace
  const span = startReconcileSpan(tracing, 'World', world)
  const attributes = { 'k8s.pod.name': world.metadata.name }
  return {
    span,
    startPod: ({ restarts }) =>
      restarts > 0 ? noSpan : startSpanOf(tracing, world, 'create Pod', { parent: span.traceparent, attributes }),
    recordReady: ({ run }) => {
      const isFirst = world.status?.run?.readyAt === undefined && run?.readyAt !== undefined && run.restarts === 0
      if (!isFirst) return
      startSpanOf(tracing, world, 'become Ready', { startMs: Date.parse(run.startedAt), attributes }).end()
    },
  }
}
