import { readFileSync } from 'node:fs'
import * as z from 'zod'
import {
  type ConfigMapName,
  configMap,
  decimal,
  list,
  listenAddress,
  logKey,
  parseEnvironment,
  port,
  type Rule,
  url,
} from '#shared/environment.ts'
import { anyRegistry, registryEntry } from '#shared/images.ts'
import { defaultLeaseTiming, type LeaseTiming } from '#shared/kube/election.ts'
import type { Backoff } from '#shared/kube/queue.ts'
import { logLevels } from '#shared/log.ts'
import { logAudience } from '#shared/logs/ticket.ts'
import { type ParseResult, withErrors } from '#shared/parseResult.ts'
import { isLoopback } from '#shared/publicUrl.ts'
import { checkSampler, type TracingSettings, toTracing, tracingVariables } from '#shared/tracing/settings.ts'
import type { BotSettings } from './bots/settings.ts'
import type { LogSettings } from './logs/server.ts'
import { imagePullPolicies } from './pods/pod.ts'
import { parsePlacement } from './world/placement.ts'
import { defaultStrategies, type WorldSettings } from './world/settings.ts'

/** The operator's configuration. */
export type OperatorConfig = {
  readonly logLevel: (typeof logLevels)[number]
  /** The port of /livez, /readyz and /metrics. */
  readonly metricsPort: number
  /** The address that the metrics port listens on; undefined means every address. */
  readonly metricsAddress: string | undefined
  /** The settings without the profiles, which are loaded later because a ConfigMap may override them. */
  readonly world: Omit<WorldSettings, 'profiles'>
  /** The ConfigMap that overrides scaling profiles, if there is one. */
  readonly scalingProfiles: ConfigMapName | undefined
  /** The interval at which the queue of an Active world's server is polled. */
  readonly queuePollMs: number
  /** The minimum interval between writes of a queue to the status, unless the world becomes full or empty or stops being so. */
  readonly queueWriteMs: number
  readonly bots: Omit<BotSettings, 'profiles'>
  /** The log server, from which the API reads logs; undefined if there is none. */
  readonly logs: LogSettings | undefined
  /** Undefined if no traces are exported. */
  readonly tracing: TracingSettings | undefined
  /** The waits between retries of a failing reconcile. */
  readonly backoff: Backoff
  /** The lease of the leader, the only replica that writes. */
  readonly lease: {
    readonly namespace: string
    readonly name: string
    /** Undefined if each process generates its own. */
    readonly identity: string | undefined
    readonly timing: LeaseTiming
  }
}

const objectName = () =>
  z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'must be a name such as orrery-operator')

const parseFile = <T>(file: string, parseText: (text: string) => ParseResult<T>): ParseResult<T> => {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    return { errors: ['must name a readable file'] }
  }
  return parseText(text)
}

/** The schemas of the operator's environment variables, by name. */
export const operatorVariables = {
  ORRERY_LOG_LEVEL: z.enum(logLevels).default('info'),
  ORRERY_METRICS_PORT: port().default(9090),
  ORRERY_METRICS_ADDRESS: listenAddress().optional(),
  ORRERY_DEFAULT_SERVER_IMAGE: z.string().min(1).describe('the server image of worlds without one'),
  ORRERY_DEFAULT_BOT_IMAGE: z
    .string()
    .max(1_024)
    .optional()
    .describe('the image of bots; without it no bot is created'),
  ORRERY_PUBLIC_URL: url('http', 'https').describe(
    'the URL at which servers reach the API, such as https://api.example.com',
  ),
  ORRERY_IMAGE_REGISTRIES: list(registryEntry).default([anyRegistry]),
  ORRERY_IMAGE_PULL_POLICY: z.enum(imagePullPolicies).default('Always'),
  ORRERY_HOST_USERS: z.enum(['true', 'false']).default('true'),
  ORRERY_MEMORY_REQUEST_RATIO: decimal(0.001, 1).default(1),
  ORRERY_CPU_REQUEST_RATIO: decimal(0.001, 1).default(0.25),
  ORRERY_START_DEADLINE_MS: decimal(1_000, 86_400_000).default(600_000),
  ORRERY_STOP_GRACE_SECONDS: decimal(1, 3_600).default(60),
  ORRERY_UNREADY_STOP_GRACE_SECONDS: decimal(1, 3_600).default(5),
  ORRERY_BOT_STOP_GRACE_SECONDS: decimal(1, 3_600).default(15),
  ORRERY_RESTART_BUDGET: decimal(0, 100).default(3),
  ORRERY_RESTART_BACKOFF_MS: decimal(1, 600_000).default(1_000),
  ORRERY_RESTART_BACKOFF_MAX_MS: decimal(1, 600_000).default(60_000),
  ORRERY_RETRY_BACKOFF_MAX_MS: decimal(10, 3_600_000).default(60_000),
  ORRERY_RESTART_REFILL_MS: decimal(1, 86_400_000).default(600_000),
  ORRERY_NOT_READY_DEADLINE_MS: decimal(1_000, 86_400_000).default(300_000),
  ORRERY_NODE_LOST_FORCE_MS: decimal(0, 86_400_000).default(0),
  ORRERY_QUEUE_POLL_MS: decimal(100, 86_400_000).default(5_000),
  ORRERY_QUEUE_WRITE_MS: decimal(0, 3_600_000).default(15_000),
  ORRERY_DEFAULT_NETWORKING_STRATEGY: z.enum(defaultStrategies).default('PodIP'),
  ORRERY_SCALING_PROFILES: configMap().optional(),
  ORRERY_PLACEMENT: z.string().transform(withErrors(parsePlacement)).optional(),
  ORRERY_PLACEMENT_FILE: z
    .string()
    .transform(withErrors((file) => parseFile(file, parsePlacement)))
    .optional(),
  ORRERY_CLUSTER_NAME: objectName().default('default'),
  ORRERY_LOGS_PORT: port().optional(),
  ORRERY_LOGS_ADDRESS: listenAddress().optional(),
  ORRERY_LOGS_KEY: logKey().optional(),
  ORRERY_LOGS_KEY_PREVIOUS: logKey().optional(),
  ORRERY_LOGS_TLS_CERT_FILE: z.string().optional(),
  ORRERY_LOGS_TLS_KEY_FILE: z.string().optional(),
  ORRERY_LOGS_ALLOW_PLAIN: z.enum(['true', 'false']).default('false'),
  ORRERY_LEASE_NAMESPACE: objectName().default('default'),
  ORRERY_LEASE_NAME: objectName().default('orrery-operator'),
  ORRERY_LEASE_IDENTITY: z.string().max(128).optional(),
  ORRERY_LEASE_DURATION_MS: decimal(1_000, 600_000).default(defaultLeaseTiming.durationMs),
  ORRERY_LEASE_RENEW_DEADLINE_MS: decimal(500, 600_000).default(defaultLeaseTiming.renewDeadlineMs),
  ORRERY_LEASE_RETRY_MS: decimal(100, 600_000).default(defaultLeaseTiming.retryMs),
  ...tracingVariables('operator'),
}

/** The log server needs a key, and TLS unless it listens on a loopback address or plain HTTP is allowed. */
const checkLogServer: Rule = (given) => {
  if (given.ORRERY_LOGS_PORT === undefined) return []
  const tlsNames = ['ORRERY_LOGS_TLS_CERT_FILE', 'ORRERY_LOGS_TLS_KEY_FILE']
  const missing = tlsNames.filter((name) => given[name] === undefined)
  const mayBePlain = isLoopback(given.ORRERY_LOGS_ADDRESS ?? '') || given.ORRERY_LOGS_ALLOW_PLAIN === 'true'
  const needed = missing.length === 2 && mayBePlain ? [] : missing
  return [
    ...(given.ORRERY_LOGS_KEY === undefined
      ? [['ORRERY_LOGS_KEY', 'is missing: the log server needs the key of the API'] as const]
      : []),
    ...needed.map(
      (name) => [name, 'is missing: the log server needs TLS, a loopback address or ORRERY_LOGS_ALLOW_PLAIN'] as const,
    ),
  ]
}

const toLogSettings = (values: z.output<z.ZodObject<typeof operatorVariables>>): LogSettings | undefined => {
  const { ORRERY_LOGS_PORT, ORRERY_LOGS_KEY, ORRERY_LOGS_TLS_CERT_FILE, ORRERY_LOGS_TLS_KEY_FILE } = values
  if (ORRERY_LOGS_PORT === undefined || ORRERY_LOGS_KEY === undefined) return undefined
  const [certFile, keyFile] = [ORRERY_LOGS_TLS_CERT_FILE, ORRERY_LOGS_TLS_KEY_FILE]
  return {
    port: ORRERY_LOGS_PORT,
    address: values.ORRERY_LOGS_ADDRESS,
    tls: certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile },
    keys: [ORRERY_LOGS_KEY, values.ORRERY_LOGS_KEY_PREVIOUS].filter((key) => key !== undefined),
    audience: logAudience(values.ORRERY_CLUSTER_NAME),
  }
}

/** Reads the operator's environment; throws an `EnvironmentError` that lists all errors. */
export const readOperatorConfig = (env: NodeJS.ProcessEnv): OperatorConfig => {
  const values = parseEnvironment(operatorVariables, env, [checkLogServer, checkSampler])
  const common = {
    publicUrl: values.ORRERY_PUBLIC_URL,
    imageRegistries: values.ORRERY_IMAGE_REGISTRIES,
    imagePullPolicy: values.ORRERY_IMAGE_PULL_POLICY,
    hostUsers: values.ORRERY_HOST_USERS === 'true',
    memoryRequestRatio: values.ORRERY_MEMORY_REQUEST_RATIO,
    cpuRequestRatio: values.ORRERY_CPU_REQUEST_RATIO,
    startDeadlineMs: values.ORRERY_START_DEADLINE_MS,
    unreadyStopGraceSeconds: values.ORRERY_UNREADY_STOP_GRACE_SECONDS,
    restartBudget: values.ORRERY_RESTART_BUDGET,
    restartBackoffMs: values.ORRERY_RESTART_BACKOFF_MS,
    restartBackoffMaxMs: values.ORRERY_RESTART_BACKOFF_MAX_MS,
    restartRefillMs: values.ORRERY_RESTART_REFILL_MS,
  }
  return {
    logLevel: values.ORRERY_LOG_LEVEL,
    metricsPort: values.ORRERY_METRICS_PORT,
    metricsAddress: values.ORRERY_METRICS_ADDRESS,
    backoff: { baseMs: 5, maxMs: values.ORRERY_RETRY_BACKOFF_MAX_MS },
    scalingProfiles: values.ORRERY_SCALING_PROFILES,
    queuePollMs: values.ORRERY_QUEUE_POLL_MS,
    queueWriteMs: values.ORRERY_QUEUE_WRITE_MS,
    logs: toLogSettings(values),
    tracing: toTracing(values),
    lease: {
      namespace: values.ORRERY_LEASE_NAMESPACE,
      name: values.ORRERY_LEASE_NAME,
      identity: values.ORRERY_LEASE_IDENTITY,
      timing: {
        durationMs: values.ORRERY_LEASE_DURATION_MS,
        renewDeadlineMs: values.ORRERY_LEASE_RENEW_DEADLINE_MS,
        retryMs: values.ORRERY_LEASE_RETRY_MS,
      },
    },
    world: {
      ...common,
      placement: values.ORRERY_PLACEMENT ?? values.ORRERY_PLACEMENT_FILE ?? [],
      defaultStrategy: values.ORRERY_DEFAULT_NETWORKING_STRATEGY,
      notReadyDeadlineMs: values.ORRERY_NOT_READY_DEADLINE_MS,
      nodeLostForceMs: values.ORRERY_NODE_LOST_FORCE_MS,
      defaultServerImage: values.ORRERY_DEFAULT_SERVER_IMAGE,
      stopGraceSeconds: values.ORRERY_STOP_GRACE_SECONDS,
    },
    bots: {
      ...common,
      image: values.ORRERY_DEFAULT_BOT_IMAGE || undefined,
      stopGraceSeconds: values.ORRERY_BOT_STOP_GRACE_SECONDS,
    },
  }
}
