import * as z from 'zod'
import { decimal, flag, type Rule, type Settings, type SettingTable, url } from '#shared/environment.ts'

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

/** The settings of traces. The names and meanings of the variables are those of OpenTelemetry. */
export const tracingSettings = (process: 'api' | 'operator') =>
  ({
    isDisabled: ['OTEL_SDK_DISABLED', flag(false)],
    exporter: ['OTEL_TRACES_EXPORTER', z.enum(['otlp', 'none']).optional()],
    endpoint: ['OTEL_EXPORTER_OTLP_ENDPOINT', url('http', 'https').optional()],
    tracesEndpoint: ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', url('http', 'https').optional()],
    protocol: [
      'OTEL_EXPORTER_OTLP_PROTOCOL',
      z.enum(['http/json'], 'must be http/json, the protocol of the export').optional(),
    ],
    headers: ['OTEL_EXPORTER_OTLP_HEADERS', headerList.default({})],
    serviceName: ['OTEL_SERVICE_NAME', z.string().max(255).default(`orrery-${process}`)],
    sampler: ['OTEL_TRACES_SAMPLER', z.enum(samplers).default('parentbased_always_on')],
    ratio: ['OTEL_TRACES_SAMPLER_ARG', decimal(0, 1).optional()],
    exportDelayMs: ['OTEL_BSP_SCHEDULE_DELAY', decimal(10, 600_000).default(5_000)],
  }) as const satisfies SettingTable

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
export const toTracing = (settings: Settings<ReturnType<typeof tracingSettings>>): TracingSettings | undefined => {
  const { isDisabled, exporter, tracesEndpoint, serviceName, headers, sampler, ratio = 1, exportDelayMs } = settings
  const base = settings.endpoint ?? (exporter === 'otlp' ? defaultEndpoint : undefined)
  const url = tracesEndpoint ?? (base && `${base.replace(/\/$/, '')}/v1/traces`)
  if (isDisabled || exporter === 'none' || url === undefined) return undefined
  return { serviceName, url, headers, sampler, ratio, exportDelayMs }
}

/** The endpoint that OpenTelemetry names as the default. */
const defaultEndpoint = 'http://localhost:4318'
