import {
  type Context,
  DiagLogLevel,
  diag,
  type Span as OpenTelemetrySpan,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  type SpanOptions,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { detectResources, resourceAttributesEnvDetector, resourceFromAttributes } from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import { sleep, systemClock } from '#shared/clock.ts'
import type { Log } from '#shared/log.ts'
import { withDefined } from '#shared/optional.ts'
import { productVersion } from '#shared/version.ts'
import type { TracingSettings } from './settings.ts'
import { formatTraceparent, parseTraceparent } from './traceparent.ts'
import type { Span, SpanStart, Tracing } from './tracing.ts'

/** The most ended spans that wait for their export. Further ones are dropped. */
const maxWaiting = 2_048
const exportTimeoutMs = 10_000
const stopMs = 5_000

/** Starts the export of spans with the SDK of OpenTelemetry, as OTLP in JSON over HTTP. */
export const startOpenTelemetry = (settings: TracingSettings, log: Log): Tracing => {
  const warn = (message: string, ...details: unknown[]): void => log.warn({ details: details.map(String) }, message)
  diag.setLogger({ error: warn, warn, info: ignore, debug: ignore, verbose: ignore }, DiagLogLevel.WARN)
  const { url, headers } = settings
  const exporter = new OTLPTraceExporter({ url, headers, timeoutMillis: exportTimeoutMs })
  const provider = new TracerProvider({
    resource: detectResources({ detectors: [resourceAttributesEnvDetector] }).merge(
      resourceFromAttributes({ 'service.name': settings.serviceName, 'service.version': productVersion }),
    ),
    sampler: samplerOf(settings),
    spanLimits: { attributeValueLengthLimit: 256, attributeCountLimit: 32, linkCountLimit: 1 },
    spanProcessors: [
      new BatchSpanProcessor({ exporter, maxQueueSize: maxWaiting, scheduledDelayMillis: settings.exportDelayMs }),
    ],
  })
  const tracer = provider.getTracer('orrery', productVersion)
  return {
    isOn: true,
    start: (name, begin = {}) => toSpan(tracer.startSpan(name, optionsOf(begin), contextOf(begin.parent))),
    stop: async () => {
      const stopped = provider.shutdown().catch((error: unknown) => log.warn({ err: error }, 'cannot export traces'))
      await Promise.race([stopped, sleep(systemClock, stopMs)])
    },
  }
}

const ignore = (): void => undefined

const samplerOf = ({ sampler, ratio }: TracingSettings): Sampler => {
  if (sampler.endsWith('always_off')) return whereParent(sampler, new AlwaysOffSampler())
  if (sampler.endsWith('traceidratio')) return whereParent(sampler, new TraceIdRatioBasedSampler(ratio))
  return whereParent(sampler, new AlwaysOnSampler())
}

const whereParent = (sampler: TracingSettings['sampler'], root: Sampler): Sampler =>
  sampler.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root

const kinds = {
  server: SpanKind.SERVER,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
  internal: SpanKind.INTERNAL,
} as const

const optionsOf = ({ kind = 'internal', link, startMs, attributes = {} }: SpanStart): SpanOptions => {
  const linked = toSpanContext(link)
  return {
    kind: kinds[kind],
    attributes: { ...attributes },
    ...withDefined({ startTime: startMs }),
    ...(linked && { links: [{ context: linked }] }),
  }
}

const contextOf = (parent: string | undefined): Context => {
  const remote = toSpanContext(parent)
  return remote === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, remote)
}

const toSpanContext = (traceparent: string | undefined): SpanContext | undefined => {
  const remote = parseTraceparent(traceparent)
  if (remote === undefined) return undefined
  const { traceId, spanId, isSampled } = remote
  return { traceId, spanId, isRemote: true, traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE }
}

const toSpan = (span: OpenTelemetrySpan): Span => {
  const { traceId, spanId } = span.spanContext()
  return {
    traceparent: span.isRecording() ? formatTraceparent({ traceId, spanId, isSampled: true }) : undefined,
    end: ({ name, error, attributes = {} } = {}) => {
      if (name !== undefined) span.updateName(name)
      span.setAttributes({ ...attributes })
      if (error !== undefined) {
        span.setAttribute('error.type', error instanceof Error ? error.name : String(error))
        span.setStatus({ code: SpanStatusCode.ERROR })
      }
      span.end()
    },
  }
}
