import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { decimal, listenAddress, parseEnvironment, port, url } from '#shared/environment.ts'
import { defaultLeaseTiming, type LeaseTiming } from '#shared/kube/election.ts'
import type { Backoff } from '#shared/kube/queue.ts'
import { logLevels } from '#shared/log.ts'
import type { BotSettings } from './bots/settings.ts'
import { type ParseResult, parsePlacement } from './world/placement.ts'
import { defaultStrategies, type WorldSettings } from './world/settings.ts'

/** The operator's configuration. */
export type OperatorConfig = {
  readonly logLevel: (typeof logLevels)[number]
  /** The port of /livez, /readyz and /metrics. */
  readonly metricsPort: number
  /** The address of the same; undefined is every address. */
  readonly metricsAddress: string | undefined
  /** Without the profiles, which a ConfigMap may override. */
  readonly world: Omit<WorldSettings, 'profiles'>
  /** The ConfigMap that overrides scaling profiles, if there is one. */
  readonly scalingProfiles: { readonly namespace: string; readonly name: string } | undefined
  /** The interval at which an Active server is asked for its queue. */
  readonly queuePollMs: number
  readonly bots: BotSettings
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

/** Reads the operator's environment; throws an `EnvironmentError` that lists all errors. */
export const readOperatorConfig = (env: NodeJS.ProcessEnv): OperatorConfig => {
  const values = parseEnvironment(
    {
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
      ORRERY_MEMORY_REQUEST_RATIO: decimal(0.001, 1).default(1),
      ORRERY_CPU_REQUEST_RATIO: decimal(0.001, 1).default(0.25),
      ORRERY_START_DEADLINE_MS: decimal(1_000, 86_400_000).default(600_000),
      ORRERY_STOP_GRACE_SECONDS: decimal(1, 3_600).default(60),
      ORRERY_BOT_STOP_GRACE_SECONDS: decimal(1, 3_600).default(15),
      ORRERY_RESTART_BUDGET: decimal(0, 100).default(3),
      ORRERY_RESTART_BACKOFF_MS: decimal(1, 600_000).default(1_000),
      ORRERY_RESTART_BACKOFF_MAX_MS: decimal(1, 600_000).default(60_000),
      ORRERY_RETRY_BACKOFF_MAX_MS: decimal(10, 3_600_000).default(60_000),
      ORRERY_RESTART_REFILL_MS: decimal(1, 86_400_000).default(600_000),
      ORRERY_NODE_LOST_FORCE_MS: decimal(0, 86_400_000).default(0),
      ORRERY_QUEUE_POLL_MS: decimal(100, 3_600_000).default(5_000),
      ORRERY_DEFAULT_NETWORKING_STRATEGY: z.enum(defaultStrategies).default('PodIP'),
      ORRERY_SCALING_PROFILES: configMap().optional(),
      ORRERY_PLACEMENT: z.string().transform(withErrors(parsePlacement)).optional(),
      ORRERY_PLACEMENT_FILE: z
        .string()
        .transform(withErrors((file) => parseFile(file, parsePlacement)))
        .optional(),
      ORRERY_LEASE_NAMESPACE: objectName().default('default'),
      ORRERY_LEASE_NAME: objectName().default('orrery-operator'),
      ORRERY_LEASE_IDENTITY: z.string().max(128).optional(),
      ORRERY_LEASE_DURATION_MS: decimal(1_000, 600_000).default(defaultLeaseTiming.durationMs),
      ORRERY_LEASE_RENEW_DEADLINE_MS: decimal(500, 600_000).default(defaultLeaseTiming.renewDeadlineMs),
      ORRERY_LEASE_RETRY_MS: decimal(100, 600_000).default(defaultLeaseTiming.retryMs),
    },
    env,
  )
  const common = {
    publicUrl: values.ORRERY_PUBLIC_URL,
    memoryRequestRatio: values.ORRERY_MEMORY_REQUEST_RATIO,
    cpuRequestRatio: values.ORRERY_CPU_REQUEST_RATIO,
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
      nodeLostForceMs: values.ORRERY_NODE_LOST_FORCE_MS,
      defaultServerImage: values.ORRERY_DEFAULT_SERVER_IMAGE,
      startDeadlineMs: values.ORRERY_START_DEADLINE_MS,
      stopGraceSeconds: values.ORRERY_STOP_GRACE_SECONDS,
    },
    bots: {
      ...common,
      image: values.ORRERY_DEFAULT_BOT_IMAGE || undefined,
      stopGraceSeconds: values.ORRERY_BOT_STOP_GRACE_SECONDS,
    },
  }
}

/** The name of a ConfigMap, as `namespace/name`. */
const configMap = () =>
  z
    .string()
    .regex(/^[a-z0-9-]{1,63}\/[a-z0-9.-]{1,253}$/, 'must be a ConfigMap as namespace/name')
    .transform((text) => {
      const [namespace = '', name = ''] = text.split('/')
      return { namespace, name }
    })

/** A transform that reports all errors within one variable together. */
const withErrors =
  <T>(parseText: (text: string) => ParseResult<T>) =>
  (text: string, context: z.RefinementCtx<string>): T => {
    const { value, errors } = parseText(text)
    if (errors === undefined) return value
    context.addIssue({ code: 'custom', message: errors.join('; ') })
    return z.NEVER
  }

const parseFile = <T>(file: string, parseText: (text: string) => ParseResult<T>): ParseResult<T> => {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    return { errors: ['must name a readable file'] }
  }
  return parseText(text)
}
