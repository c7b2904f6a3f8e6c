import { readFileSync } from 'node:fs'
import { BlockList, isIP } from 'node:net'
import { z } from 'zod'
import type { ConnectionLimits } from '#api/platform/http/accept.ts'
import type { TlsFiles } from '#api/platform/http/tls.ts'
import type { SocketLimits } from '#api/realtime/gate.ts'
import { computeGroups, computeRegions } from '#shared/enumerations.ts'
import { decimal, listenAddress, parseEnvironment, port, type Rule, url } from '#shared/environment.ts'
import { logLevels } from '#shared/log.ts'
import { refuseInsecurePublicUrl } from '#shared/publicUrl.ts'
import type { Limits } from './domain/access/limits.ts'
import { type ExternalIssuer, issuerSchema } from './domain/access/token.ts'
import type { RateLimitOptions } from './domain/endpoint/rateLimit.ts'
import { providers } from './domain/organizations/schema.ts'
import type { EncryptionKey } from './platform/secrets/seal.ts'

/** A cluster and the places that it serves: groups and regions of compute. */
export type Cluster = { readonly name: string; readonly places: readonly { group: string; region: string }[] }

/** The API's configuration. */
export type ApiConfig = {
  readonly logLevel: (typeof logLevels)[number]
  readonly port: number
  readonly metricsPort: number
  readonly metricsAddress: string | undefined
  /** The API's own certificate and key; undefined if a proxy terminates TLS. */
  readonly tls: TlsFiles | undefined
  readonly database: { readonly url: string; readonly poolSize: number }
  readonly rootApiKey: string
  /** The previous platform key, still valid during its rotation. */
  readonly previousRootApiKey: string | undefined
  /** The secrets of the key hashes. The first one hashes new keys; lookups try each. */
  readonly keyPeppers: readonly [string, ...string[]]
  /** The maximum number of organizations that a key and its descendants may create. */
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
  /** The maximum delay before a failed push is retried. */
  readonly pushBackoffMaxMs: number
  readonly limits: Limits
  readonly rateLimits: RateLimitOptions
  readonly socketLimits: SocketLimits
  readonly connectionLimits: ConnectionLimits
  /** Proxies whose forwarding headers are trusted. The limit of connections per address does not apply to them. */
  readonly trustedProxies: BlockList
  readonly issuers: readonly ExternalIssuer[]
  readonly cluster: Cluster
  readonly supportedProviders: readonly string[]
}

const places = z.array(z.strictObject({ group: z.enum(computeGroups), region: z.enum(computeRegions) })).min(1)
const everyPlace = computeGroups.flatMap((group) => computeRegions.map((region) => ({ group, region })))
const clustersSchema = z
  .tuple([z.strictObject({ name: z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/), places })])
  .describe('[{"name": "default", "places": [{"group": "production", "region": "Europe"}]}]; one cluster is served')

/** Parses a variable that is the path of a JSON file, and checks the content. */
const jsonFile = <S extends z.ZodType>(schema: S) =>
  z.string().transform((path, context): z.output<S> => {
    try {
      const result = schema.safeParse(JSON.parse(readFileSync(path, 'utf8')))
      if (result.success) return result.data
      const faults = result.error.issues.map((issue) => `${issue.path.join('.') || 'the document'} ${issue.message}`)
      context.addIssue({ code: 'custom', message: `names a file with invalid content: ${faults.join('; ')}` })
    } catch (error) {
      const why = error instanceof SyntaxError ? 'is not JSON' : 'cannot be read'
      context.addIssue({ code: 'custom', message: `names a file that ${why}` })
    }
    return z.NEVER
  })

/**
 * Reports whether a secret looks random: at least 80 bits by the Shannon entropy of its characters, no ascending or
 * repeated sequence, and no placeholder such as "changeme". API keys and 24 random base64 characters pass.
 */
const isUnpredictable = (text: string): boolean => {
  const counts = [...Map.groupBy(text, (letter) => letter).values()].map((letters) => letters.length)
  const bits = counts.reduce((sum, count) => sum - count * Math.log2(count / text.length), 0)
  const steps = new Set(Array.from(text.slice(1), (letter, at) => letter.charCodeAt(0) - text.charCodeAt(at)))
  return bits >= 80 && steps.size >= 6 && !/change-?me|password|placeholder/i.test(text)
}

/** Parses a comma-separated list. */
const list = <S extends z.ZodType<string, string>>(each: S) =>
  z
    .string()
    .transform((text) => text.split(',').map((part) => part.trim()))
    .pipe(z.array(each))

/** Parses a comma-separated list of networks such as `10.0.0.0/8`. An address without a prefix matches itself. */
const networks = z.string().transform((text, context): BlockList => {
  const list = new BlockList()
  for (const network of text.split(',').map((part) => part.trim())) {
    const [address = '', prefix] = network.split('/')
    const family = isIP(address)
    const longest = family === 6 ? 128 : 32
    const bits = prefix === undefined ? longest : Number(/^\d{1,3}$/.test(prefix) ? prefix : Number.NaN)
    if (family === 0 || Number.isNaN(bits) || bits > longest) {
      context.addIssue({
        code: 'custom',
        message: 'must be a comma-separated list of networks such as 10.0.0.0/8 or fd00::/8',
      })
      return z.NEVER
    }
    list.addSubnet(address, bits, family === 6 ? 'ipv6' : 'ipv4')
  }
  return list
})

const encryptionKeys = z.string().transform((text, context): [EncryptionKey, ...EncryptionKey[]] => {
  const [first, ...rest] = text.split(',').map((part) => {
    const [id = '', encoded = ''] = part.trim().split(':')
    return { id, key: Buffer.from(encoded, 'base64') }
  })
  const isGood = ({ id, key }: EncryptionKey) => /^[A-Za-z0-9_-]{1,32}$/.test(id) && key.length === 32
  if (first !== undefined && [first, ...rest].every(isGood)) return [first, ...rest]
  context.addIssue({ code: 'custom', message: 'must be a comma-separated list of id:base64, each key of 32 bytes' })
  return z.NEVER
})

const platformKey = z
  .string()
  .min(24, 'must have at least 24 characters')
  .refine(isUnpredictable, 'is too easy to guess; create one with: openssl rand -base64 32')
const pepper = z.string().min(32, 'must have at least 32 characters')

const origin = z
  .string()
  .refine((text) => URL.parse(text)?.origin === text, 'must be origins such as https://play.example.com')

const network = z.union([z.cidrv4(), z.cidrv6()], 'must be networks such as 203.0.113.0/24')
const clusterUser = () =>
  z.string().regex(/^[\w.:@-]{1,253}$/, 'must be a user name such as system:serviceaccount:orrery:api')

const variables = {
  ORRERY_LOG_LEVEL: z.enum(logLevels).default('info'),
  ORRERY_PORT: port().default(8080),
  ORRERY_METRICS_PORT: port().default(9090),
  ORRERY_METRICS_ADDRESS: listenAddress().optional(),
  ORRERY_TLS_CERT_FILE: z.string().optional(),
  ORRERY_TLS_KEY_FILE: z.string().optional(),
  ORRERY_DATABASE_URL: url('postgres', 'postgresql').describe('postgres://user:password@host:5432/orrery'),
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
  ORRERY_PUSH_BACKOFF_MAX_MS: decimal(10, 3_600_000).default(30_000),
  ORRERY_LIMIT_MAX_WORLDS: decimal(0, 1_000_000).default(1_000),
  ORRERY_LIMIT_MAX_BOT_DEPLOYMENTS: decimal(0, 1_000_000).default(1_000),
  ORRERY_LIMIT_MAX_WORLD_CAPACITY: decimal(0, 10_000).default(10_000),
  ORRERY_LIMIT_MAX_RUNNING_CAPACITY: decimal(0, 100_000_000).default(20_000),
  ORRERY_LIMIT_MAX_API_KEYS: decimal(0, 1_000_000).default(1_000),
  ORRERY_LIMIT_MAX_DOCUMENTS: decimal(0, 1_000_000_000).default(100_000),
  ORRERY_LIMIT_MAX_DOCUMENT_BYTES: decimal(0, 2 ** 50).default(2 ** 30),
  ORRERY_LIMIT_MAX_CONNECTIONS: decimal(1, 1_000_000).default(25_000),
  ORRERY_LIMIT_MAX_REQUESTS_PER_SECOND: decimal(1, 1_000_000).default(2_000),
  ORRERY_LIMIT_ORGANIZATIONS_PER_KEY: decimal(0, 1_000_000).default(100),
  ORRERY_LIMIT_REQUESTS_PER_SECOND: decimal(1, 1_000_000).default(50),
  ORRERY_LIMIT_REQUEST_BURST: decimal(1, 1_000_000).default(100),
  ORRERY_LIMIT_STARTS_PER_MINUTE: decimal(1, 1_000_000).default(10),
  ORRERY_LIMIT_SOCKETS_PER_KEY: decimal(1, 1_000_000).default(100),
  // Many clients may come through one proxy.
  ORRERY_LIMIT_SOCKETS_PER_ADDRESS: decimal(1, 1_000_000).default(10_000),
  ORRERY_LIMIT_FAILED_CREDENTIALS_PER_MINUTE: decimal(1, 1_000_000).default(300),
  ORRERY_LIMIT_CONNECTIONS: decimal(1, 1_000_000).default(60_000),
  ORRERY_LIMIT_CONNECTIONS_PER_ADDRESS: decimal(1, 1_000_000).default(12_000),
  ORRERY_TRUSTED_PROXIES: networks.default(new BlockList()),
  ORRERY_JWT_ISSUERS_FILE: jsonFile(z.array(issuerSchema)).default([]),
  ORRERY_CLUSTERS_FILE: jsonFile(clustersSchema).default([{ name: 'default', places: everyPlace }]),
  ORRERY_SUPPORTED_PROVIDERS: list(z.enum(providers)).default([]),
}

const peppersOf = (values: { ORRERY_KEY_PEPPER: string; ORRERY_KEY_PEPPER_PREVIOUS?: string | undefined }) =>
  [values.ORRERY_KEY_PEPPER, ...(values.ORRERY_KEY_PEPPER_PREVIOUS ? [values.ORRERY_KEY_PEPPER_PREVIOUS] : [])] as const

const requireBothTlsFiles: Rule = (given) => {
  const names = ['ORRERY_TLS_CERT_FILE', 'ORRERY_TLS_KEY_FILE']
  const missing = names.filter((name) => given[name] === undefined)
  return missing.length === 1 ? missing.map((name) => [name, 'is missing: TLS needs the certificate and its key']) : []
}

/** Reads the API's configuration from the environment. Throws an `EnvironmentError` that lists all faults. */
export const readApiConfig = (env: NodeJS.ProcessEnv): ApiConfig => {
  const values = parseEnvironment(variables, env, [refuseInsecurePublicUrl, requireBothTlsFiles])
  const { ORRERY_TLS_CERT_FILE: certFile, ORRERY_TLS_KEY_FILE: keyFile } = values
  return {
    logLevel: values.ORRERY_LOG_LEVEL,
    port: values.ORRERY_PORT,
    metricsPort: values.ORRERY_METRICS_PORT,
    metricsAddress: values.ORRERY_METRICS_ADDRESS,
    tls: certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile },
    database: { url: values.ORRERY_DATABASE_URL, poolSize: values.ORRERY_DATABASE_POOL_SIZE },
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
    pushBackoffMaxMs: values.ORRERY_PUSH_BACKOFF_MAX_MS,
    limits: {
      maxWorlds: values.ORRERY_LIMIT_MAX_WORLDS,
      maxBotDeployments: values.ORRERY_LIMIT_MAX_BOT_DEPLOYMENTS,
      maxWorldCapacity: values.ORRERY_LIMIT_MAX_WORLD_CAPACITY,
      maxRunningCapacity: values.ORRERY_LIMIT_MAX_RUNNING_CAPACITY,
      maxApiKeys: values.ORRERY_LIMIT_MAX_API_KEYS,
      maxDocuments: values.ORRERY_LIMIT_MAX_DOCUMENTS,
      maxDocumentBytes: values.ORRERY_LIMIT_MAX_DOCUMENT_BYTES,
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
    trustedProxies: values.ORRERY_TRUSTED_PROXIES,
    issuers: values.ORRERY_JWT_ISSUERS_FILE,
    cluster: values.ORRERY_CLUSTERS_FILE[0],
    supportedProviders: values.ORRERY_SUPPORTED_PROVIDERS,
  }
}

/** Reads the configuration of `npm run rotate-keys` from the environment. Throws an `EnvironmentError`. */
export const readRotationConfig = (env: NodeJS.ProcessEnv) => {
  const { ORRERY_DATABASE_URL, ORRERY_KEY_ENCRYPTION_KEYS, ORRERY_KEY_PEPPER } = variables
  // Without a pepper the fingerprints stay as they are.
  const used = { ORRERY_DATABASE_URL, ORRERY_KEY_ENCRYPTION_KEYS, ORRERY_KEY_PEPPER: ORRERY_KEY_PEPPER.optional() }
  const values = parseEnvironment(used, env)
  return {
    databaseUrl: values.ORRERY_DATABASE_URL,
    encryptionKeys: values.ORRERY_KEY_ENCRYPTION_KEYS,
    pepper: values.ORRERY_KEY_PEPPER,
  }
}
