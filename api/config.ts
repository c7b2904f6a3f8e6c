import { z } from 'zod'
import { decimal, parseEnvironment, port, url } from '#shared/environment.ts'
import { logLevels } from '#shared/log.ts'

/** The API's configuration. */
export type ApiConfig = {
  readonly logLevel: (typeof logLevels)[number]
  readonly port: number
  readonly metricsPort: number
  readonly database: { readonly url: string; readonly poolSize: number }
  readonly rootApiKey: string
  /** Where clients and servers reach the API. */
  readonly publicUrl: string
  readonly namespacePrefix: string
  /** The longest wait before a failed push to the cluster is tried again. */
  readonly pushBackoffMaxMs: number
}

/** Reads the API's environment; throws an `EnvironmentError` that lists every fault. */
export const readApiConfig = (env: NodeJS.ProcessEnv): ApiConfig => {
  const values = parseEnvironment(
    {
      ORRERY_LOG_LEVEL: z.enum(logLevels).default('info'),
      ORRERY_PORT: port().default(8080),
      ORRERY_METRICS_PORT: port().default(9090),
      ORRERY_DATABASE_URL: url('postgres', 'postgresql').describe('postgres://user:password@host:5432/orrery'),
      ORRERY_DATABASE_POOL_SIZE: decimal(2, 1_000).default(16),
      ORRERY_ROOT_API_KEY: z
        .string()
        .min(24, 'must have at least 24 characters')
        .describe('the platform key; make one with: openssl rand -base64 32'),
      ORRERY_PUBLIC_URL: url('http', 'https').describe('where clients reach the API, such as https://api.example.com'),
      ORRERY_NAMESPACE_PREFIX: z
        .string()
        .regex(/^[a-z]([a-z0-9-]{0,29}[a-z0-9])?$/, 'must be at most 31 of a-z, 0-9 and -, and begin with a letter')
        .default('orrery'),
      ORRERY_PUSH_BACKOFF_MAX_MS: decimal(10, 3_600_000).default(30_000),
    },
    env,
  )
  return {
    logLevel: values.ORRERY_LOG_LEVEL,
    port: values.ORRERY_PORT,
    metricsPort: values.ORRERY_METRICS_PORT,
    database: { url: values.ORRERY_DATABASE_URL, poolSize: values.ORRERY_DATABASE_POOL_SIZE },
    rootApiKey: values.ORRERY_ROOT_API_KEY,
    publicUrl: values.ORRERY_PUBLIC_URL,
    namespacePrefix: values.ORRERY_NAMESPACE_PREFIX,
    pushBackoffMaxMs: values.ORRERY_PUSH_BACKOFF_MAX_MS,
  }
}
