import { BlockList } from 'node:net'
import * as z from 'zod'
import { forwardingHeaders } from '#api/platform/http/clientAddress.ts'
import { parseGateway } from '#shared/domain/gateway.ts'
import { defaultHostPorts, parseHostPorts } from '#shared/domain/hostPorts.ts'
import {
  configMap,
  decimal,
  flag,
  list,
  listenAddress,
  port,
  type Rule,
  readSettings,
  type SettingTable,
  url,
} from '#shared/environment.ts'
import { logLevels } from '#shared/log.ts'
import { withErrors } from '#shared/parseResult.ts'
import { refuseInsecurePublicUrl } from '#shared/publicUrl.ts'
import { toTlsFiles } from '#shared/tls.ts'
import { checkSampler, toTracing, tracingSettings } from '#shared/tracing/settings.ts'
import { clusterSettings, requireLogKey, toClusters } from './clusterConfig.ts'
import { limitSettings, toLimits } from './domain/access/limits.ts'
import { issuersSchema } from './domain/access/token.ts'
import { providers } from './domain/organizations/schema.ts'
import { readIssuerSecrets } from './issuerConfig.ts'
import { clusterUser, encryptionKeys, jsonFile, network, networks, origin, pepper, platformKey } from './variables.ts'
import { toWebhooks, webhookSettings } from './webhookConfig.ts'

const mebibyte = 1024 * 1024
/** The bytes of each request that do not count as in flight. */
const uncountedBytes = 64 * 1024

/** The settings of the API by their place in its configuration. docs/configuration.md explains them. */
export const apiSettings = {
  logLevel: ['ORRERY_LOG_LEVEL', z.enum(logLevels).default('info')],
  port: ['ORRERY_PORT', port().default(8080)],
  metricsPort: ['ORRERY_METRICS_PORT', port().default(9090)],
  metricsAddress: ['ORRERY_METRICS_ADDRESS', listenAddress().optional()],
  tls: {
    certFile: ['ORRERY_TLS_CERT_FILE', z.string().optional()],
    keyFile: ['ORRERY_TLS_KEY_FILE', z.string().optional()],
  },
  database: {
    url: ['ORRERY_DATABASE_URL', url('postgres', 'postgresql').describe('postgres://user:password@host:5432/orrery')],
    ownerUrl: ['ORRERY_DATABASE_OWNER_URL', url('postgres', 'postgresql').optional()],
    poolSize: ['ORRERY_DATABASE_POOL_SIZE', decimal(2, 1_000).default(16)],
  },
  auditRetentionDays: ['ORRERY_AUDIT_RETENTION_DAYS', decimal(1, 36_500).default(365)],
  rootApiKey: [
    'ORRERY_ROOT_API_KEY',
    platformKey.describe('the platform key; create one with: openssl rand -base64 32'),
  ],
  previousRootApiKey: ['ORRERY_ROOT_API_KEY_PREVIOUS', platformKey.optional()],
  pepper: [
    'ORRERY_KEY_PEPPER',
    pepper.describe('the secret of the key hashes; create one with: openssl rand -base64 32'),
  ],
  previousPepper: ['ORRERY_KEY_PEPPER_PREVIOUS', pepper.optional()],
  encryptionKeys: [
    'ORRERY_KEY_ENCRYPTION_KEYS',
    encryptionKeys.describe('k1:<base64>, the current key first; create one with: openssl rand -base64 32'),
  ],
  objectStoreUrl: [
    'ORRERY_OBJECT_STORE_URL',
    url('file', 's3').describe('file:///var/lib/orrery/objects or s3://bucket?region=…'),
  ],
  publicUrl: [
    'ORRERY_PUBLIC_URL',
    url('http', 'https').describe('the URL at which clients reach the API, such as https://api.example.com'),
  ],
  isInsecurePublicUrlAllowed: ['ORRERY_ALLOW_INSECURE_PUBLIC_URL', flag(false)],
  allowedOrigins: ['ORRERY_ALLOWED_ORIGINS', list(origin).default([])],
  namespacePrefix: [
    'ORRERY_NAMESPACE_PREFIX',
    z
      .string()
      .regex(
        /^[a-z]([a-z0-9-]{0,29}[a-z0-9])?$/,
        'must have at most 31 characters of a-z, 0-9 and -, begin with a letter and not end with -',
      )
      .default('orrery'),
  ],
  hostPorts: ['ORRERY_HOST_PORTS', z.string().default(defaultHostPorts).transform(withErrors(parseHostPorts))],
  routeGateway: ['ORRERY_ROUTE_GATEWAY', z.string().transform(withErrors(parseGateway)).optional()],
  hostPortCheckMs: ['ORRERY_HOST_PORT_CHECK_MS', decimal(100, 60_000).default(60_000)],
  clusterUsers: {
    api: ['ORRERY_API_USER', clusterUser().default('orrery-api')],
    operator: ['ORRERY_OPERATOR_USER', clusterUser().default('orrery-operator')],
  },
  network: {
    apiNetworks: ['ORRERY_API_NETWORKS', list(network).default([])],
    dnsNetworks: ['ORRERY_DNS_NETWORKS', list(network).default([])],
  },
  scalingProfiles: ['ORRERY_SCALING_PROFILES', configMap().optional()],
  limits: limitSettings,
  pushBackoffMaxMs: ['ORRERY_PUSH_BACKOFF_MAX_MS', decimal(10, 3_600_000).default(30_000)],
  keepDeletedHours: ['ORRERY_KEEP_DELETED_HOURS', decimal(0, 24 * 365).default(7 * 24)],
  isConsoleOn: ['ORRERY_CONSOLE', flag(true)],
  areWebhooksOn: ['ORRERY_WEBHOOKS', flag(true)],
  webhooks: webhookSettings,
  // Eight organizations leave one of 16 connections free: they hold half of the pool, and one more for each after the first.
  maxOrganizationsPerKey: ['ORRERY_LIMIT_ORGANIZATIONS_PER_KEY', decimal(0, 1_000_000).default(8)],
  rateLimits: {
    requestsPerSecond: ['ORRERY_LIMIT_REQUESTS_PER_SECOND', decimal(1, 1_000_000).default(50)],
    burst: ['ORRERY_LIMIT_REQUEST_BURST', decimal(1, 1_000_000).default(100)],
    startsPerMinute: ['ORRERY_LIMIT_STARTS_PER_MINUTE', decimal(1, 1_000_000).default(10)],
    failedCredentialsPerMinute: ['ORRERY_LIMIT_FAILED_CREDENTIALS_PER_MINUTE', decimal(1, 1_000_000).default(300)],
  },
  socketLimits: {
    socketsPerKey: ['ORRERY_LIMIT_SOCKETS_PER_KEY', decimal(1, 1_000_000).default(100)],
    // Many clients may come through one proxy.
    socketsPerAddress: ['ORRERY_LIMIT_SOCKETS_PER_ADDRESS', decimal(1, 1_000_000).default(10_000)],
  },
  connectionLimits: {
    connections: ['ORRERY_LIMIT_CONNECTIONS', decimal(1, 1_000_000).default(60_000)],
    connectionsPerAddress: ['ORRERY_LIMIT_CONNECTIONS_PER_ADDRESS', decimal(1, 1_000_000).default(12_000)],
  },
  inFlightLimits: {
    total: ['ORRERY_LIMIT_IN_FLIGHT_BYTES', decimal(16 * mebibyte, 1_024 * mebibyte).default(128 * mebibyte)],
    perGroup: [
      'ORRERY_LIMIT_IN_FLIGHT_BYTES_PER_ORGANIZATION',
      decimal(16 * mebibyte, 1_024 * mebibyte).default(32 * mebibyte),
    ],
  },
  // Longer than the 60 s for which load balancers keep idle connections, so that the load balancers close them first.
  keepAliveMs: ['ORRERY_KEEP_ALIVE_MS', decimal(1_000, 3_600_000).default(65_000)],
  trustedProxies: ['ORRERY_TRUSTED_PROXIES', networks.default(new BlockList())],
  forwardingHeader: ['ORRERY_FORWARDING_HEADER', z.enum(forwardingHeaders).default('x-forwarded-for')],
  issuers: ['ORRERY_JWT_ISSUERS_FILE', jsonFile(issuersSchema).default([])],
  clusters: clusterSettings,
  logLimits: {
    perKey: ['ORRERY_LIMIT_LOGS_PER_KEY', decimal(1, 10_000).default(5)],
    perOrganization: ['ORRERY_LIMIT_LOGS_PER_ORGANIZATION', decimal(1, 10_000).default(20)],
    perReplica: ['ORRERY_LIMIT_LOGS', decimal(1, 10_000).default(50)],
  },
  supportedProviders: ['ORRERY_SUPPORTED_PROVIDERS', list(z.enum(providers)).default([])],
  tracing: tracingSettings('api'),
  trustsTraceparent: ['ORRERY_TRUST_TRACEPARENT', flag(false)],
} as const satisfies SettingTable

const requireBothTlsFiles: Rule = (given) => {
  const names = ['ORRERY_TLS_CERT_FILE', 'ORRERY_TLS_KEY_FILE']
  const missing = names.filter((name) => given[name] === undefined)
  return missing.length === 1 ? missing.map((name) => [name, 'is missing: TLS needs the certificate and its key']) : []
}

const rules = [refuseInsecurePublicUrl, requireBothTlsFiles, requireLogKey, checkSampler]

/** Reads the API's configuration from the environment. Throws an `EnvironmentError` that lists all faults. */
export const readApiConfig = (env: NodeJS.ProcessEnv) => {
  const { pepper, previousPepper, keepDeletedHours, routeGateway, ...settings } = readSettings(apiSettings, env, rules)
  const { limits, rateLimits, socketLimits } = settings
  return {
    ...settings,
    tls: toTlsFiles(settings.tls),
    offersRoutes: routeGateway !== undefined,
    /** The first one hashes new keys; lookups try each. */
    keyPeppers: [pepper, ...(previousPepper === undefined ? [] : [previousPepper])] as const,
    limits: {
      ...toLimits(limits),
      // An organization has at least what one of its keys has.
      maxConnections: Math.max(limits.maxConnections, socketLimits.socketsPerKey),
      maxRequestsPerSecond: Math.max(limits.maxRequestsPerSecond, rateLimits.requestsPerSecond),
    },
    keepDeletedMs: keepDeletedHours * 3_600_000,
    issuers: readIssuerSecrets(settings.issuers),
    webhooks: toWebhooks(settings.webhooks),
    inFlightLimits: { ...settings.inFlightLimits, free: uncountedBytes },
    clusters: toClusters(settings.clusters),
    tracing: toTracing(settings.tracing),
  }
}

/** The API's configuration, parsed and checked from the environment. */
export type ApiConfig = ReturnType<typeof readApiConfig>

/** Reads the configuration of `orrery migrate` from the environment. Throws an `EnvironmentError`. */
export const readMigrationConfig = (env: NodeJS.ProcessEnv) => {
  const { logLevel, database, auditRetentionDays } = apiSettings
  const [variable, ownerUrl] = database.ownerUrl
  const owner = [variable, ownerUrl.unwrap().describe('the URL of the role that owns the tables')] as const
  return readSettings({ logLevel, database: { url: database.url, ownerUrl: owner }, auditRetentionDays }, env)
}

/** Reads the configuration of `orrery rotate-keys` from the environment. Throws an `EnvironmentError`. */
export const readRotationConfig = (env: NodeJS.ProcessEnv) => {
  const { database, encryptionKeys, pepper } = apiSettings
  // Without a pepper the fingerprints stay as they are.
  return readSettings({ databaseUrl: database.url, encryptionKeys, pepper: toOptional(pepper) }, env)
}

/** Reads the configuration of `orrery sync` and `orrery doctor` from the environment. Throws an `EnvironmentError`. */
export const readSyncConfig = (env: NodeJS.ProcessEnv) => {
  const { database, clusters, namespacePrefix, scalingProfiles, port, clusterUsers, network, limits, hostPorts } =
    apiSettings
  // Without the public URL, the rules that name the API are not compared.
  const publicUrl = toOptional(apiSettings.publicUrl)
  const used = { namespacePrefix, scalingProfiles, publicUrl, port, clusterUsers, network, limits, hostPorts }
  const settings = readSettings({ ...used, databaseUrl: database.url, clusters: clusters.listed }, env)
  return { ...settings, limits: toLimits(settings.limits) }
}

const toOptional = <S extends z.ZodType>([variable, schema]: readonly [string, S]) =>
  [variable, schema.optional()] as const
