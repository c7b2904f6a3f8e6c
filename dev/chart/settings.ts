import * as z from 'zod'
import { apiSettings } from '#api/config.ts'
import { operatorSettings } from '#operator/config.ts'
import { variablesOf } from '#shared/environment.ts'
import type { Field } from './fields.ts'

/** A process of the product that reads environment variables. */
export type Process = 'api' | 'operator'

const variables = { api: variablesOf(apiSettings), operator: variablesOf(operatorSettings) }

const tracingValues = (process: Process): Readonly<Record<string, string>> => ({
  OTEL_SDK_DISABLED: `${process}.extraEnv`,
  OTEL_TRACES_EXPORTER: `${process}.extraEnv`,
  OTEL_EXPORTER_OTLP_ENDPOINT: 'tracing.endpoint',
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${process}.extraEnv`,
  OTEL_EXPORTER_OTLP_PROTOCOL: `${process}.extraEnv`,
  OTEL_EXPORTER_OTLP_HEADERS: 'tracing.headers',
  OTEL_SERVICE_NAME: `${process}.extraEnv`,
  OTEL_TRACES_SAMPLER: 'tracing.sampler',
  OTEL_TRACES_SAMPLER_ARG: 'tracing.samplerArg',
  OTEL_BSP_SCHEDULE_DELAY: `${process}.extraEnv`,
})

/** Variables that the templates set from values of their own, and the values. */
const ownValues: Record<Process, Readonly<Record<string, string>>> = {
  api: {
    ORRERY_LOG_LEVEL: 'logLevel',
    ORRERY_PORT: 'always 8080',
    ORRERY_METRICS_PORT: 'always 9090',
    ORRERY_METRICS_ADDRESS: 'always every address',
    ORRERY_TLS_CERT_FILE: 'api.tls.existingSecret',
    ORRERY_TLS_KEY_FILE: 'api.tls.existingSecret',
    ORRERY_DATABASE_URL: 'database',
    ORRERY_DATABASE_OWNER_URL: 'database.owner, for the init container only',
    ORRERY_ROOT_API_KEY: 'keys.platformKey',
    ORRERY_ROOT_API_KEY_PREVIOUS: 'keys.platformKeyPrevious',
    ORRERY_KEY_PEPPER: 'keys.pepper',
    ORRERY_KEY_PEPPER_PREVIOUS: 'keys.pepperPrevious',
    ORRERY_KEY_ENCRYPTION_KEYS: 'keys.encryptionKeys',
    ORRERY_OBJECT_STORE_URL: 'objectStore',
    ORRERY_PUBLIC_URL: 'publicUrl',
    ORRERY_ALLOW_INSECURE_PUBLIC_URL: 'allowInsecurePublicUrl',
    ORRERY_CONSOLE: 'console.enabled',
    ORRERY_OPERATOR_URL: 'logs.enabled',
    ORRERY_OPERATOR_CA_FILE: 'logs.tls.existingSecret',
    ORRERY_LOGS_KEY: 'keys.logs',
    ORRERY_NAMESPACE_PREFIX: 'namespacePrefix',
    ORRERY_HOST_PORTS: 'hostPorts',
    ORRERY_ROUTE_GATEWAY: 'route.gateway',
    ORRERY_API_USER: 'the service account of the API',
    ORRERY_OPERATOR_USER: 'the service account of the operator',
    ORRERY_JWT_ISSUERS_FILE: 'api.jwtIssuers',
    ORRERY_CLUSTERS_FILE: 'api.clusters',
    ORRERY_SCALING_PROFILES: 'operator.scalingProfiles',
    ...tracingValues('api'),
  },
  operator: {
    ORRERY_LOG_LEVEL: 'logLevel',
    ORRERY_METRICS_PORT: 'always 9090',
    ORRERY_METRICS_ADDRESS: 'always every address',
    ORRERY_DEFAULT_SERVER_IMAGE: 'worldServer.image',
    ORRERY_DEFAULT_BOT_IMAGE: 'bot.image',
    ORRERY_PUBLIC_URL: 'publicUrl',
    ORRERY_HOST_PORTS: 'hostPorts',
    ORRERY_ROUTE_GATEWAY: 'route.gateway',
    ORRERY_ROUTE_URL: 'route.url',
    ORRERY_SCALING_PROFILES: 'operator.scalingProfiles',
    ORRERY_PLACEMENT: 'operator.placement',
    ORRERY_PLACEMENT_FILE: 'operator.placement',
    ORRERY_CLUSTER_NAME: 'api.clusters',
    ORRERY_LOGS_PORT: 'always 9443',
    ORRERY_LOGS_ADDRESS: 'always every address',
    ORRERY_LOGS_KEY: 'keys.logs',
    ORRERY_LOGS_KEY_PREVIOUS: 'keys.logsPrevious',
    ORRERY_LOGS_TLS_CERT_FILE: 'logs.tls.existingSecret',
    ORRERY_LOGS_TLS_KEY_FILE: 'logs.tls.existingSecret',
    ORRERY_LOGS_ALLOW_PLAIN: 'always false',
    ORRERY_LEASE_NAMESPACE: 'the namespace of the release',
    ORRERY_LEASE_NAME: 'always orrery-operator',
    ORRERY_LEASE_IDENTITY: 'the uid of the pod',
    ...tracingValues('operator'),
  },
}

/** An environment variable of a process, its default, and the value of the chart that sets it. */
export type Setting = { readonly variable: string; readonly value: string; readonly default: string }

/** Returns all variables of a process. Every variable has a value of the chart. */
export const settingsOf = (process: Process): Setting[] =>
  Object.entries(variables[process]).map(([variable, schema]) => ({
    variable,
    value: ownValues[process][variable] ?? `${process}.settings.${keyOf(variable)}`,
    default: defaultOf(schema),
  }))

/**
 * Returns the values `<process>.settings.*`: one for each variable without a value of its own, so that a new variable
 * needs no change of the chart. The process itself checks what is given; the schema refuses unknown names.
 */
export const settingFields = (process: Process): Record<string, Field> =>
  Object.fromEntries(
    settingsOf(process)
      .filter(({ value }) => value.startsWith(`${process}.settings.`))
      .map(({ variable, default: otherwise }) => [
        keyOf(variable),
        {
          description: `Sets ${variable}. Default of the process: ${otherwise}.`,
          default: null,
          schema: { type: ['string', 'number', 'boolean', 'array', 'null'], items: { type: ['string', 'number'] } },
        },
      ]),
  )

/** `ORRERY_LIMIT_MAX_WORLDS` is `limitMaxWorlds`. The template turns it back. */
const keyOf = (variable: string): string =>
  variable
    .replace(/^ORRERY_/, '')
    .toLowerCase()
    .replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())

const defaultOf = (schema: unknown): string => {
  if (schema instanceof z.ZodPipe && schema.in instanceof z.ZodDefault) return String(schema.in.def.defaultValue)
  const parsed = (schema as z.ZodType).safeParse(undefined)
  if (!parsed.success) return 'required'
  const { data } = parsed
  if (Array.isArray(data) && data.every((each) => typeof each === 'string')) return data.join(',') || 'none'
  return data === undefined || typeof data === 'object' ? 'none' : String(data)
}
