import * as z from 'zod'
import { decimal, type Rule, url } from '#shared/environment.ts'

/** The samplers that OpenTelemetry names. The `parentbased` ones follow the parent span, if there is one. */
export const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const

/** The settings of exported traces. */
export type TracingSettings = {
  readonly serviceName: string
  /** The URL to which spans are posted. */
  readonly url: string
  /** Headers of the export, which may be secrets. */
  readonly headers: Readonly<Record<string, string>>
  readonly sampler: (typeof samplers)[number]
  /** The part of the traces that a ratio sampler samples, 0 to 1. */
  readonly ratio: number
  /** The time for which ended spans wait for others to be exported with. */
  readonly exportDelayMs: number
}

/** Parses `name=value` pairs, separated by commas, with percent-encoded values. */
const headerList = z.string().transform((text, context): Record<string, string> => {
  try {
    const pairs = text.split(',').map((pair) => /^\s*([\w!#$%&'*+.^`|~-]+)\s*=(.*)$/.exec(pair))
    if (pairs.every((pair) => pair !== null)) {
      return Object.fromEntries(pairs.map(([, name = '', value = '']) => [name, decodeURIComponent(value.trim())]))
    }
  } catch {
    // A value that is not percent-encoded has the same fault.
  }
  context.addIssue({ code: 'custom', message: 'must be name=value pairs, separated by commas, percent-encoded' })
  return z.NEVER
})

/** The schemas of the environment variables of traces, by name. The names and meanings are those of OpenTelemetry. */
export const tracingVariables = (process: 'api' | 'operator') => ({
  OTEL_SDK_DISABLED: z.enum(['true', 'false']).default('false'),
  OTEL_TRACES_EXPORTER: z.enum(['otlp', 'none']).optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: url('http', 'https').optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url('http', 'https').optional(),
  OTEL_EXPORTER_OTLP_PROTOCOL: z.enum(['http/json'], 'must be http/json, the protocol of the export').optional(),
  OTEL_EXPORTER_OTLP_HEADERS: headerList.optional(),
  OTEL_SERVICE_NAME: z.string().max(255).default(`orrery-${process}`),
  OTEL_TRACES_SAMPLER: z.enum(samplers).default('parentbased_always_on'),
  OTEL_TRACES_SAMPLER_ARG: decimal(0, 1).optional(),
  OTEL_BSP_SCHEDULE_DELAY: decimal(10, 600_000).default(5_000),
})

type TracingValues = z.output<z.ZodObject<ReturnType<typeof tracingVariables>>>

/** A ratio sampler without a ratio would sample everything, and a ratio without such a sampler has no effect. */
export const checkSampler: Rule = (given) => {
  const isRatio = given.OTEL_TRACES_SAMPLER?.endsWith('traceidratio') ?? false
  const hasRatio = given.OTEL_TRACES_SAMPLER_ARG !== undefined
  if (isRatio === hasRatio) return []
  const fault = isRatio
    ? 'is missing: the sampler needs the part of the traces to sample, such as 0.1'
    : 'has no effect: only the samplers traceidratio and parentbased_traceidratio use it'
  return [['OTEL_TRACES_SAMPLER_ARG', fault]]
}

/** Returns the settings of traces, or undefined if none are exported. An endpoint or `OTEL_TRACES_EXPORTER=otlp` turns them on. */
export const toTracing = (values: TracingValues): TracingSettings | undefined => {
  const { OTEL_TRACES_EXPORTER: exporter, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own } = values
  const base = values.OTEL_EXPORTER_OTLP_ENDPOINT ?? (exporter === 'otlp' ? defaultEndpoint : undefined)
  const url = own ?? (base && `${base.replace(/\/$/, '')}/v1/traces`)
  if (values.OTEL_SDK_DISABLED === 'true' || exporter === 'none' || url === undefined) return undefined
  return {
    serviceName: values.OTEL_SERVICE_NAME,
    url,
    headers: values.OTEL_EXPORTER_OTLP_HEADERS ?? {},
    sampler: values.OTEL_TRACES_SAMPLER,
    ratio: values.OTEL_TRACES_SAMPLER_ARG ?? 1,
    exportDelayMs: values.OTEL_BSP_SCHEDULE_DELAY,
  }
}

/** The endpoint that OpenTelemetry names as the default. */
const defaultEndpoint = 'http://localhost:4318'
