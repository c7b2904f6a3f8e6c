import { BlockList } from 'node:net'
import * as z from 'zod'
import type { BudgetLimits } from '#api/platform/fairness/budget.ts'
import type { ConnectionLimits } from '#api/platform/http/accept.ts'
import { forwardingHeaders } from '#api/platform/http/clientAddress.ts'
import type { SocketLimits } from '#api/realtime/gate.ts'
import {
  type ConfigMapName,
  configMap,
  decimal,
  list,
  listenAddress,
  parseEnvironment,
  port,
  type Rule,
  url,
} from '#shared/environment.ts'
import { logLevels } from '#shared/log.ts'
import { refuseInsecurePublicUrl } from '#shared/publicUrl.ts'
import type { TlsFiles } from '#shared/tls.ts'
import { checkSampler, type TracingSettings, toTracing, tracingVariables } from '#shared/tracing/settings.ts'
import { type Cluster, clusterVariables, requireLogKey, toClusters } from './clusterConfig.ts'
import { type Limits, limitVariables, toLimits } from './domain/access/limits.ts'
import { type ExternalIssuer, issuerSchema } from './domain/access/token.ts'
import type { RateLimitOptions } from './domain/endpoint/rateLimit.ts'
import { providers } from './domain/organizations/schema.ts'
import type { LogLimits } from './platform/logs/slots.ts'
import type { EncryptionKey } from './platform/secrets/seal.ts'
import { clusterUser, encryptionKeys, jsonFile, network, networks, origin, pepper, platformKey } from './variables.ts'
import { toWebhooks, type WebhookConfig, webhookVariables } from './webhookConfig.ts'

const mebibyte = 1024 * 1024
/** The bytes of each request that do not count as in flight. */
const uncountedBytes = 64 * 1024

/** The URLs of the API's role, and of the role that owns the tables. */
export type DatabaseRoles = { readonly url: string; readonly ownerUrl: string | undefined }

/** The API's configuration, parsed and checked from the environment. */
export type ApiConfig = {
  readonly logLevel: (typeof logLevels)[number]
  readonly port: number
  readonly metricsPort: number
  readonly metricsAddress: string | undefined
  /** The API's own certificate and key; undefined if a proxy terminates TLS. */
  readonly tls: TlsFiles | undefined
  /** With `ownerUrl`, the API migrates the database at its start. It uses that role for nothing else. */
  readonly database: DatabaseRoles & { readonly poolSize: number }
  /** False if no webhook can be created and no message is sent. */
  readonly areWebhooksOn: boolean
  readonly webhooks: WebhookConfig
  /** The time for which audit records are kept. */
  readonly auditRetentionDays: number
  readonly rootApiKey: string
  /** The previous platform key, still valid during its rotation. */
  readonly previousRootApiKey: string | undefined
  /** The secrets of the key hashes. The first one hashes new keys; lookups try each. */
  readonly keyPeppers: readonly [string, ...string[]]
  /** The maximum number of organizations that a key and the keys that it created may create. */
  readonly maxOrganizationsPerKey: number
  /** The first key encrypts. All keys decrypt. */
  readonly encryptionKeys: readonly [EncryptionKey, ...EncryptionKey[]]
  readonly objectStoreUrl: string
  /** The URL at which clients and servers reach the API. */
  readonly publicUrl: string
  /** The origins of web pages that may call the API. */
  readonly allowedOrigins: readonly string[]
  readonly namespacePrefix: string
  /** The Kubernetes users of api and operator. */
  readonly clusterUsers: { readonly api: string; readonly operator: string }
  /** Networks (CIDR) that servers may reach in addition to the pods of the API and of DNS. */
  readonly network: { readonly apiNetworks: readonly string[]; readonly dnsNetworks: readonly string[] }
  /** The ConfigMap that overrides scaling profiles, if there is one. */
  readonly scalingProfiles: ConfigMapName | undefined
  /** The maximum delay before a failed push is retried. */
  readonly pushBackoffMaxMs: number
  /** The time for which deleted worlds, projects and organizations are kept and can be restored. */
  readonly keepDeletedMs: number
  readonly logLimits: LogLimits
  readonly limits: Limits
  readonly rateLimits: RateLimitOptions
  readonly socketLimits: SocketLimits
  readonly connectionLimits: ConnectionLimits
  /** The bytes of request bodies and responses in memory, in total and for each organization or address. */
  readonly inFlightLimits: BudgetLimits
  /** The time for which a connection without a request is kept. */
  readonly keepAliveMs: number
  /** Proxies whose forwarding headers are trusted. The limit of connections per address does not apply to them. */
  readonly trustedProxies: BlockList
  /** The header in which trusted proxies pass on the address of the client. */
  readonly forwardingHeader: (typeof forwardingHeaders)[number]
  readonly issuers: readonly ExternalIssuer[]
  readonly clusters: readonly [Cluster, ...Cluster[]]
  readonly supportedProviders: readonly string[]
  /** Undefined if no traces are exported. */
  readonly tracing: TracingSettings | undefined
  /** Requests continue the trace of their client, with its decision to sample. */
  readonly trustsTraceparent: boolean
}

/** The schemas of the API's environment variables, by name. */
export const apiVariables = {
  ORRERY_LOG_LEVEL: z.enum(logLevels).default('info'),
  ORRERY_PORT: port().default(8080),
  ORRERY_METRICS_PORT: port().default(9090),
  ORRERY_METRICS_ADDRESS: listenAddress().optional(),
  ORRERY_TLS_CERT_FILE: z.string().optional(),
  ORRERY_TLS_KEY_FILE: z.string().optional(),
  ORRERY_DATABASE_URL: url('postgres', 'postgresql').describe('postgres://user:password@host:5432/orrery'),
  ORRERY_DATABASE_OWNER_URL: url('postgres', 'postgresql').optional(),
  ORRERY_AUDIT_RETENTION_DAYS: decimal(1, 36_500).default(365),
  ORRERY_DATABASE_POOL_SIZE: decimal(2, 1_000).default(16),
  ORRERY_ROOT_API_KEY: platformKey.describe('the platform key; create one with: openssl rand -base64 32'),
  ORRERY_ROOT_API_KEY_PREVIOUS: platformKey.optional(),
  ORRERY_KEY_PEPPER: pepper.describe('the secret of the key hashes; create one with: openssl rand -base64 32'),
  ORRERY_KEY_PEPPER_PREVIOUS: pepper.optional(),
  ORRERY_KEY_ENCRYPTION_KEYS: encryptionKeys.describe(
    'k1:<base64>, the current key first; create one with: openssl rand -base64 32',
  ),
  ORRERY_OBJECT_STORE_URL: url('file', 's3').describe('file:///var/lib/orrery/objects or s3://bucket?region=…'),
  ORRERY_PUBLIC_URL: url('http', 'https').describe(
    'the URL at which clients reach the API, such as https://api.example.com',
  ),
  ORRERY_ALLOW_INSECURE_PUBLIC_URL: z.enum(['true', 'false']).default('false'),
  ORRERY_ALLOWED_ORIGINS: list(origin).default([]),
  ORRERY_NAMESPACE_PREFIX: z
    .string()
    .regex(
      /^[a-z]([a-z0-9-]{0,29}[a-z0-9])?$/,
      'must have at most 31 characters of a-z, 0-9 and -, begin with a letter and not end with -',
    )
    .default('orrery'),
  ORRERY_API_USER: clusterUser().default('orrery-api'),
  ORRERY_OPERATOR_USER: clusterUser().default('orrery-operator'),
  ORRERY_API_NETWORKS: list(network).default([]),
  ORRERY_DNS_NETWORKS: list(network).default([]),
  ORRERY_SCALING_PROFILES: configMap().optional(),
  ...limitVariables,
  ORRERY_PUSH_BACKOFF_MAX_MS: decimal(10, 3_600_000).default(30_000),
  ORRERY_KEEP_DELETED_HOURS: decimal(0, 24 * 365).default(7 * 24),
  ...webhookVariables,
  // The organizations in a pool of 16 connections hold at most half of it, plus one for each after the first.
  ORRERY_LIMIT_ORGANIZATIONS_PER_KEY: decimal(0, 1_000_000).default(8),
  ORRERY_LIMIT_REQUESTS_PER_SECOND: decimal(1, 1_000_000).default(50),
  ORRERY_LIMIT_REQUEST_BURST: decimal(1, 1_000_000).default(100),
  ORRERY_LIMIT_STARTS_PER_MINUTE: decimal(1, 1_000_000).default(10),
  ORRERY_LIMIT_SOCKETS_PER_KEY: decimal(1, 1_000_000).default(100),
  // Many clients may come through one proxy.
  ORRERY_LIMIT_SOCKETS_PER_ADDRESS: decimal(1, 1_000_000).default(10_000),
  ORRERY_LIMIT_FAILED_CREDENTIALS_PER_MINUTE: decimal(1, 1_000_000).default(300),
  ORRERY_LIMIT_CONNECTIONS: decimal(1, 1_000_000).default(60_000),
  ORRERY_LIMIT_CONNECTIONS_PER_ADDRESS: decimal(1, 1_000_000).default(12_000),
  ORRERY_LIMIT_IN_FLIGHT_BYTES: decimal(16 * mebibyte, 1_024 * mebibyte).default(128 * mebibyte),
  ORRERY_LIMIT_IN_FLIGHT_BYTES_PER_ORGANIZATION: decimal(16 * mebibyte, 1_024 * mebibyte).default(32 * mebibyte),
  // Longer than the 60 s for which load balancers keep idle connections, so that they close them first.
  ORRERY_KEEP_ALIVE_MS: decimal(1_000, 3_600_000).default(65_000),
  ORRERY_TRUSTED_PROXIES: networks.default(new BlockList()),
  ORRERY_FORWARDING_HEADER: z.enum(forwardingHeaders).default('x-forwarded-for'),
  ORRERY_JWT_ISSUERS_FILE: jsonFile(z.array(issuerSchema)).default([]),
  ...clusterVariables,
  ORRERY_LIMIT_LOGS_PER_KEY: decimal(1, 10_000).default(5),
  ORRERY_LIMIT_LOGS_PER_ORGANIZATION: decimal(1, 10_000).default(20),
  ORRERY_LIMIT_LOGS: decimal(1, 10_000).default(50),
  ORRERY_SUPPORTED_PROVIDERS: list(z.enum(providers)).default([]),
  ...tracingVariables('api'),
  ORRERY_TRUST_TRACEPARENT: z.enum(['true', 'false']).default('false'),
}

const peppersOf = (values: { ORRERY_KEY_PEPPER: string; ORRERY_KEY_PEPPER_PREVIOUS?: string | undefined }) =>
  [values.ORRERY_KEY_PEPPER, ...(values.ORRERY_KEY_PEPPER_PREVIOUS ? [values.ORRERY_KEY_PEPPER_PREVIOUS] : [])] as const

const requireBothTlsFiles: Rule = (given) => {
  const names = ['ORRERY_TLS_CERT_FILE', 'ORRERY_TLS_KEY_FILE']
  const missing = names.filter((name) => given[name] === undefined)
  return missing.length === 1 ? missing.map((name) => [name, 'is missing: TLS needs the certificate and its key']) : []
}

const rules = [refuseInsecurePublicUrl, requireBothTlsFiles, requireLogKey, checkSampler]

/** Reads the API's configuration from the environment. Throws an `EnvironmentError` that lists all faults. */
export const readApiConfig = (env: NodeJS.ProcessEnv): ApiConfig => {
  const values = parseEnvironment(apiVariables, env, rules)
  const { ORRERY_TLS_CERT_FILE: certFile, ORRERY_TLS_KEY_FILE: keyFile } = values
  return {
    logLevel: values.ORRERY_LOG_LEVEL,
    port: values.ORRERY_PORT,
    metricsPort: values.ORRERY_METRICS_PORT,
    metricsAddress: values.ORRERY_METRICS_ADDRESS,
    tls: certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile },
    database: {
      url: values.ORRERY_DATABASE_URL,
      ownerUrl: values.ORRERY_DATABASE_OWNER_URL,
      poolSize: values.ORRERY_DATABASE_POOL_SIZE,
    },
    areWebhooksOn: values.ORRERY_WEBHOOKS === 'true',
    webhooks: toWebhooks(values),
    auditRetentionDays: values.ORRERY_AUDIT_RETENTION_DAYS,
    rootApiKey: values.ORRERY_ROOT_API_KEY,
    previousRootApiKey: values.ORRERY_ROOT_API_KEY_PREVIOUS,
    keyPeppers: peppersOf(values),
    maxOrganizationsPerKey: values.ORRERY_LIMIT_ORGANIZATIONS_PER_KEY,
    encryptionKeys: values.ORRERY_KEY_ENCRYPTION_KEYS,
    objectStoreUrl: values.ORRERY_OBJECT_STORE_URL,
    publicUrl: values.ORRERY_PUBLIC_URL,
    allowedOrigins: values.ORRERY_ALLOWED_ORIGINS,
    namespacePrefix: values.ORRERY_NAMESPACE_PREFIX,
    clusterUsers: { api: values.ORRERY_API_USER, operator: values.ORRERY_OPERATOR_USER },
    network: { apiNetworks: values.ORRERY_API_NETWORKS, dnsNetworks: values.ORRERY_DNS_NETWORKS },
    scalingProfiles: values.ORRERY_SCALING_PROFILES,
    pushBackoffMaxMs: values.ORRERY_PUSH_BACKOFF_MAX_MS,
    keepDeletedMs: values.ORRERY_KEEP_DELETED_HOURS * 3_600_000,
    logLimits: {
      perKey: values.ORRERY_LIMIT_LOGS_PER_KEY,
      perOrganization: values.ORRERY_LIMIT_LOGS_PER_ORGANIZATION,
      perReplica: values.ORRERY_LIMIT_LOGS,
    },
    limits: {
      ...toLimits(values),
      // An organization has at least what one of its keys has.
      maxConnections: Math.max(values.ORRERY_LIMIT_MAX_CONNECTIONS, values.ORRERY_LIMIT_SOCKETS_PER_KEY),
      maxRequestsPerSecond: Math.max(
        values.ORRERY_LIMIT_MAX_REQUESTS_PER_SECOND,
        values.ORRERY_LIMIT_REQUESTS_PER_SECOND,
      ),
    },
    rateLimits: {
      requestsPerSecond: values.ORRERY_LIMIT_REQUESTS_PER_SECOND,
      burst: values.ORRERY_LIMIT_REQUEST_BURST,
      startsPerMinute: values.ORRERY_LIMIT_STARTS_PER_MINUTE,
      failedCredentialsPerMinute: values.ORRERY_LIMIT_FAILED_CREDENTIALS_PER_MINUTE,
    },
    socketLimits: {
      socketsPerKey: values.ORRERY_LIMIT_SOCKETS_PER_KEY,
      socketsPerAddress: values.ORRERY_LIMIT_SOCKETS_PER_ADDRESS,
    },
    connectionLimits: {
      connections: values.ORRERY_LIMIT_CONNECTIONS,
      connectionsPerAddress: values.ORRERY_LIMIT_CONNECTIONS_PER_ADDRESS,
    },
    inFlightLimits: {
      total: values.ORRERY_LIMIT_IN_FLIGHT_BYTES,
      perGroup: values.ORRERY_LIMIT_IN_FLIGHT_BYTES_PER_ORGANIZATION,
      free: uncountedBytes,
    },
    keepAliveMs: values.ORRERY_KEEP_ALIVE_MS,
    trustedProxies: values.ORRERY_TRUSTED_PROXIES,
    forwardingHeader: values.ORRERY_FORWARDING_HEADER,
    issuers: values.ORRERY_JWT_ISSUERS_FILE,
    clusters: toClusters(values),
    supportedProviders: values.ORRERY_SUPPORTED_PROVIDERS,
    tracing: toTracing(values),
    trustsTraceparent: values.ORRERY_TRUST_TRACEPARENT === 'true',
  }
}

/** Reads the configuration of `orrery migrate` from the environment. Throws an `EnvironmentError`. */
export const readMigrationConfig = (env: NodeJS.ProcessEnv) => {
  const { ORRERY_LOG_LEVEL, ORRERY_DATABASE_URL, ORRERY_DATABASE_OWNER_URL, ORRERY_AUDIT_RETENTION_DAYS } = apiVariables
  const used = {
    ORRERY_LOG_LEVEL,
    ORRERY_DATABASE_URL,
    ORRERY_DATABASE_OWNER_URL: ORRERY_DATABASE_OWNER_URL.unwrap().describe('the URL of the role that owns the tables'),
    ORRERY_AUDIT_RETENTION_DAYS,
  }
  const values = parseEnvironment(used, env)
  return {
    logLevel: values.ORRERY_LOG_LEVEL,
    database: { url: values.ORRERY_DATABASE_URL, ownerUrl: values.ORRERY_DATABASE_OWNER_URL },
    auditRetentionDays: values.ORRERY_AUDIT_RETENTION_DAYS,
  }
}

/** Reads the configuration of `orrery rotate-keys` from the environment. Throws an `EnvironmentError`. */
export const readRotationConfig = (env: NodeJS.ProcessEnv) => {
  const { ORRERY_DATABASE_URL, ORRERY_KEY_ENCRYPTION_KEYS, ORRERY_KEY_PEPPER } = apiVariables
  // Without a pepper the fingerprints stay as they are.
  const used = { ORRERY_DATABASE_URL, ORRERY_KEY_ENCRYPTION_KEYS, ORRERY_KEY_PEPPER: ORRERY_KEY_PEPPER.optional() }
  const values = parseEnvironment(used, env)
  return {
    databaseUrl: values.ORRERY_DATABASE_URL,
    encryptionKeys: values.ORRERY_KEY_ENCRYPTION_KEYS,
    pepper: values.ORRERY_KEY_PEPPER,
  }
}

/** Reads the configuration of `orrery sync` and `orrery doctor` from the environment. Throws an `EnvironmentError`. */
export const readSyncConfig = (env: NodeJS.ProcessEnv) => {
  const used = {
    ORRERY_DATABASE_URL: apiVariables.ORRERY_DATABASE_URL,
    ORRERY_NAMESPACE_PREFIX: apiVariables.ORRERY_NAMESPACE_PREFIX,
    ORRERY_SCALING_PROFILES: apiVariables.ORRERY_SCALING_PROFILES,
    // Without it, the rules that name the API are not compared.
    ORRERY_PUBLIC_URL: apiVariables.ORRERY_PUBLIC_URL.optional(),
    ORRERY_PORT: apiVariables.ORRERY_PORT,
    ORRERY_API_USER: apiVariables.ORRERY_API_USER,
    ORRERY_OPERATOR_USER: apiVariables.ORRERY_OPERATOR_USER,
    ORRERY_API_NETWORKS: apiVariables.ORRERY_API_NETWORKS,
    ORRERY_DNS_NETWORKS: apiVariables.ORRERY_DNS_NETWORKS,
    ORRERY_CLUSTERS_FILE: clusterVariables.ORRERY_CLUSTERS_FILE,
    ...limitVariables,
  }
  const values = parseEnvironment(used, env)
  return {
    databaseUrl: values.ORRERY_DATABASE_URL,
    clusters: values.ORRERY_CLUSTERS_FILE,
    namespacePrefix: values.ORRERY_NAMESPACE_PREFIX,
    scalingProfiles: values.ORRERY_SCALING_PROFILES,
    publicUrl: values.ORRERY_PUBLIC_URL,
    port: values.ORRERY_PORT,
    clusterUsers: { api: values.ORRERY_API_USER, operator: values.ORRERY_OPERATOR_USER },
    network: { apiNetworks: values.ORRERY_API_NETWORKS, dnsNetworks: values.ORRERY_DNS_NETWORKS },
    limits: toLimits(values),
  }
}
