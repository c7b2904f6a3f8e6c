import { getCACertificates } from 'node:tls'
import type { Registry } from 'prom-client'
import type { ApiConfig } from './config.ts'
import type { Deps } from './domain/access/context.ts'
import { deliverWebhooks } from './domain/webhooks/delivery.ts'
import { registerWebhookMetrics } from './domain/webhooks/metrics.ts'
import { deleteExcessDeliveries, deleteOldDeliveries, disableBacklogged } from './domain/webhooks/queue.ts'
import type { PeriodicTask } from './housekeeping.ts'
import { createAddressCheck } from './platform/webhooks/address.ts'
import { createResolver, createSend } from './platform/webhooks/send.ts'

/** The number of pending deliveries above which a webhook is deactivated. */
const maxPending = 100_000
/** The number of the newest deliveries of a webhook that are kept. Older ones are deleted when they have ended. */
const maxKept = 10_000
const minuteMs = 60_000

/** Starts the delivery of webhooks, unless the platform has switched it off. `stop` waits for the attempts under way. */
export const startWebhooks = (
  { deps, registry, random }: { deps: Deps; registry: Registry; random: () => number },
  { areWebhooksOn, webhooks }: Pick<ApiConfig, 'areWebhooksOn' | 'webhooks'>,
): { stop: () => Promise<void> } => {
  if (!areWebhooksOn) return { stop: async () => undefined }
  const stopping = new AbortController()
  const { clock } = deps
  const send = createSend({
    resolve: createResolver(webhooks.dnsServers),
    isAllowed: createAddressCheck(webhooks.allowedNetworks),
    authorities: [...getCACertificates('default'), ...webhooks.authorities],
    timeoutMs: webhooks.timeoutMs,
    clock,
  })
  const metrics = registerWebhookMetrics({ ...deps, registry })
  const delivery = deliverWebhooks({ ...deps, send, random, metrics }, webhooks, stopping.signal)
  return {
    stop: async () => {
      stopping.abort()
      await delivery
    },
  }
}

/** Returns the tasks that bound the tables of webhooks. */
export const createWebhookTasks = (deps: Deps, { webhooks }: Pick<ApiConfig, 'webhooks'>): PeriodicTask[] => [
  {
    name: 'webhook deliveries',
    intervalMs: minuteMs,
    run: (signal) => deleteOldDeliveries(deps.db, deps.clock.now() - webhooks.retentionMs, signal),
  },
  {
    name: 'webhook records',
    intervalMs: 10 * minuteMs,
    run: (signal) => deleteExcessDeliveries(deps.db, maxKept, signal),
  },
  { name: 'webhook backlogs', intervalMs: minuteMs, run: () => disableBacklogged(deps, maxPending) },
]
