import { readFileSync } from 'node:fs'
import * as z from 'zod'
import { parseGateway, parseRouteUrl } from '#shared/domain/gateway.ts'
import { defaultHostPorts, parseHostPorts } from '#shared/domain/hostPorts.ts'
import { worldFields } from '#shared/domain/world.ts'
import {
  configMap,
  decimal,
  flag,
  list,
  listenAddress,
  logKey,
  port,
  type Rule,
  readSettings,
  type Settings,
  type SettingTable,
  url,
} from '#shared/environment.ts'
import { anyRegistry, registryEntry } from '#shared/images.ts'
import { defaultLeaseTiming } from '#shared/kube/election.ts'
import { namePatterns } from '#shared/kube/names.ts'
import { logLevels } from '#shared/log.ts'
import { logAudience } from '#shared/logs/ticket.ts'
import { type ParseResult, withErrors } from '#shared/parseResult.ts'
import { isLoopback } from '#shared/publicUrl.ts'
import { toTlsFiles } from '#shared/tls.ts'
import { checkSampler, toTracing, tracingSettings } from '#shared/tracing/settings.ts'
import type { LogSettings } from './logs/server.ts'
import { nodeAddressTypes } from './pods/node.ts'
import { imagePullPolicies } from './pods/pod.ts'
import { parsePlacement } from './world/placement.ts'
import { defaultStrategies } from './world/settings.ts'

const objectName = () =>
  z.string().max(63).regex(new RegExp(namePatterns.dnsLabel), 'must be a name such as orrery-operator')

const parseFile = <T>(file: string, parseText: (text: string) => ParseResult<T>): ParseResult<T> => {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch {
    return { errors: ['must name a readable file'] }
  }
  return parseText(text)
}

/** The settings of the operator by their place in its configuration. docs/configuration.md explains them. */
export const operatorSettings = {
  logLevel: ['ORRERY_LOG_LEVEL', z.enum(logLevels).default('info')],
  metricsPort: ['ORRERY_METRICS_PORT', port().default(9090)],
  metricsAddress: ['ORRERY_METRICS_ADDRESS', listenAddress().optional()],
  /** The settings that worlds and bots share. */
  common: {
    publicUrl: [
      'ORRERY_PUBLIC_URL',
      url('http', 'https').describe('the URL at which servers reach the API, such as https://api.example.com'),
    ],
    imageRegistries: ['ORRERY_IMAGE_REGISTRIES', list(registryEntry).default([anyRegistry])],
    imagePullPolicy: ['ORRERY_IMAGE_PULL_POLICY', z.enum(imagePullPolicies).default('Always')],
    hostUsers: ['ORRERY_HOST_USERS', flag(true)],
    memoryRequestRatio: ['ORRERY_MEMORY_REQUEST_RATIO', decimal(0.001, 1).default(1)],
    cpuRequestRatio: ['ORRERY_CPU_REQUEST_RATIO', decimal(0.001, 1).default(0.25)],
    startDeadlineMs: ['ORRERY_START_DEADLINE_MS', decimal(1_000, 86_400_000).default(600_000)],
    unreadyStopGraceSeconds: ['ORRERY_UNREADY_STOP_GRACE_SECONDS', decimal(1, 3_600).default(5)],
    restartBudget: ['ORRERY_RESTART_BUDGET', decimal(0, 100).default(3)],
    restartBackoffMs: ['ORRERY_RESTART_BACKOFF_MS', decimal(1, 600_000).default(1_000)],
    restartBackoffMaxMs: ['ORRERY_RESTART_BACKOFF_MAX_MS', decimal(1, 600_000).default(60_000)],
    restartRefillMs: ['ORRERY_RESTART_REFILL_MS', decimal(1, 86_400_000).default(600_000)],
  },
  world: {
    defaultServerImage: [
      'ORRERY_DEFAULT_SERVER_IMAGE',
      worldFields.image.describe('the server image of worlds without one'),
    ],
    stopGraceSeconds: ['ORRERY_STOP_GRACE_SECONDS', decimal(1, 3_600).default(60)],
    notReadyDeadlineMs: ['ORRERY_NOT_READY_DEADLINE_MS', decimal(1_000, 86_400_000).default(300_000)],
    nodeLostForceMs: ['ORRERY_NODE_LOST_FORCE_MS', decimal(0, 86_400_000).default(0)],
    nodeAddressTypes: [
      'ORRERY_NODE_ADDRESS_TYPES',
      list(z.enum(nodeAddressTypes)).default(['ExternalIP', 'InternalIP']),
    ],
    hostPorts: ['ORRERY_HOST_PORTS', z.string().default(defaultHostPorts).transform(withErrors(parseHostPorts))],
    defaultStrategy: ['ORRERY_DEFAULT_NETWORKING_STRATEGY', z.enum(defaultStrategies).default('PodIP')],
  },
  route: {
    gateway: ['ORRERY_ROUTE_GATEWAY', z.string().transform(withErrors(parseGateway)).optional()],
    url: ['ORRERY_ROUTE_URL', z.string().transform(withErrors(parseRouteUrl)).optional()],
  },
  placement: ['ORRERY_PLACEMENT', z.string().transform(withErrors(parsePlacement)).optional()],
  placementOfFile: [
    'ORRERY_PLACEMENT_FILE',
    z
      .string()
      .transform(withErrors((file) => parseFile(file, parsePlacement)))
      .optional(),
  ],
  bots: {
    image: ['ORRERY_DEFAULT_BOT_IMAGE', worldFields.image.optional()],
    stopGraceSeconds: ['ORRERY_BOT_STOP_GRACE_SECONDS', decimal(1, 3_600).default(15)],
  },
  scalingProfiles: ['ORRERY_SCALING_PROFILES', configMap().optional()],
  retryBackoffMaxMs: ['ORRERY_RETRY_BACKOFF_MAX_MS', decimal(10, 3_600_000).default(60_000)],
  queuePollMs: ['ORRERY_QUEUE_POLL_MS', decimal(100, 86_400_000).default(5_000)],
  queueWriteMs: ['ORRERY_QUEUE_WRITE_MS', decimal(0, 3_600_000).default(15_000)],
  clusterName: ['ORRERY_CLUSTER_NAME', objectName().default('default')],
  logs: {
    port: ['ORRERY_LOGS_PORT', port().optional()],
    address: ['ORRERY_LOGS_ADDRESS', listenAddress().optional()],
    key: ['ORRERY_LOGS_KEY', logKey().optional()],
    previousKey: ['ORRERY_LOGS_KEY_PREVIOUS', logKey().optional()],
    tls: {
      certFile: ['ORRERY_LOGS_TLS_CERT_FILE', z.string().optional()],
      keyFile: ['ORRERY_LOGS_TLS_KEY_FILE', z.string().optional()],
    },
    mayBePlain: ['ORRERY_LOGS_ALLOW_PLAIN', flag(false)],
  },
  lease: {
    namespace: ['ORRERY_LEASE_NAMESPACE', objectName().default('default')],
    name: ['ORRERY_LEASE_NAME', objectName().default('orrery-operator')],
    identity: ['ORRERY_LEASE_IDENTITY', z.string().max(128).optional()],
    timing: {
      durationMs: ['ORRERY_LEASE_DURATION_MS', decimal(1_000, 600_000).default(defaultLeaseTiming.durationMs)],
      renewDeadlineMs: [
        'ORRERY_LEASE_RENEW_DEADLINE_MS',
        decimal(500, 600_000).default(defaultLeaseTiming.renewDeadlineMs),
      ],
      retryMs: ['ORRERY_LEASE_RETRY_MS', decimal(100, 600_000).default(defaultLeaseTiming.retryMs)],
    },
  },
  tracing: tracingSettings('operator'),
} as const satisfies SettingTable

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

/** The strategy Route needs both a Gateway and URLs. */
const requireBothRouteSettings: Rule = ({ ORRERY_ROUTE_GATEWAY: gateway, ORRERY_ROUTE_URL: url }) => {
  if ((gateway === undefined) === (url === undefined)) return []
  const missing = gateway === undefined ? 'ORRERY_ROUTE_GATEWAY' : 'ORRERY_ROUTE_URL'
  return [[missing, 'is missing: the networking strategy Route needs a Gateway and the URL of its worlds']]
}

const toLogSettings = (
  { port, address, key, previousKey, tls }: Settings<typeof operatorSettings.logs>,
  clusterName: string,
): LogSettings | undefined => {
  if (port === undefined || key === undefined) return undefined
  const keys = [key, previousKey].filter((each) => each !== undefined)
  return { port, address, tls: toTlsFiles(tls), keys, audience: logAudience(clusterName) }
}

/** Reads the operator's environment; throws an `EnvironmentError` that lists all errors. */
export const readOperatorConfig = (env: NodeJS.ProcessEnv) => {
  const settings = readSettings(operatorSettings, env, [checkLogServer, requireBothRouteSettings, checkSampler])
  const { common, placement, placementOfFile, route, bots, retryBackoffMaxMs, clusterName, ...others } = settings
  return {
    ...others,
    /** The settings without the profiles, which are loaded later because a ConfigMap may override them. */
    world: {
      ...common,
      ...settings.world,
      placement: placement ?? placementOfFile ?? [],
      ...(route.gateway && route.url && { route: { gateway: route.gateway, url: route.url } }),
    },
    bots: { ...common, ...bots },
    /** The waits between retries of a failing reconcile. */
    backoff: { baseMs: 5, maxMs: retryBackoffMaxMs },
    logs: toLogSettings(settings.logs, clusterName),
    tracing: toTracing(settings.tracing),
  }
}

/** The operator's configuration. */
export type OperatorConfig = ReturnType<typeof readOperatorConfig>
