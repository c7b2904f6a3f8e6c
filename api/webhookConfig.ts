import { BlockList } from 'node:net'
import * as z from 'zod'
import { decimal, list } from '#shared/environment.ts'
import { certificates, dnsServer, networks } from './variables.ts'

/** The settings of the delivery of webhooks. */
export type WebhookConfig = {
  /** Networks that messages may be sent to although their addresses are not public. */
  readonly allowedNetworks: BlockList
  /** Certificates (PEM) that are accepted in addition to those of public authorities. */
  readonly authorities: readonly string[]
  /** The DNS servers that resolve host names. Default: those of the machine. */
  readonly dnsServers: readonly string[]
  readonly timeoutMs: number
  readonly maxAttempts: number
  readonly disableAfterMs: number
  readonly retentionMs: number
  readonly concurrency: { readonly perReplica: number; readonly perOrganization: number; readonly perWebhook: number }
}

/** The schemas of the environment variables of webhooks, by name. */
export const webhookVariables = {
  ORRERY_WEBHOOKS: z.enum(['true', 'false']).default('true'),
  ORRERY_WEBHOOK_ALLOWED_NETWORKS: networks.default(new BlockList()),
  ORRERY_WEBHOOK_CA_FILE: certificates.default([]),
  ORRERY_WEBHOOK_DNS_SERVERS: list(dnsServer).default([]),
  ORRERY_WEBHOOK_TIMEOUT_MS: decimal(100, 60_000).default(10_000),
  ORRERY_WEBHOOK_MAX_ATTEMPTS: decimal(1, 30).default(10),
  ORRERY_WEBHOOK_DISABLE_AFTER_HOURS: decimal(0, 24 * 365).default(5 * 24),
  ORRERY_WEBHOOK_RETENTION_DAYS: decimal(0.01, 365).default(14),
  ORRERY_WEBHOOK_ATTEMPTS_PER_REPLICA: decimal(1, 1_000).default(64),
  ORRERY_WEBHOOK_ATTEMPTS_PER_ORGANIZATION: decimal(1, 1_000).default(16),
  ORRERY_WEBHOOK_ATTEMPTS_PER_WEBHOOK: decimal(1, 1_000).default(4),
}

/** Converts the variables of webhooks. */
export const toWebhooks = (values: z.output<z.ZodObject<typeof webhookVariables>>): WebhookConfig => ({
  allowedNetworks: values.ORRERY_WEBHOOK_ALLOWED_NETWORKS,
  authorities: values.ORRERY_WEBHOOK_CA_FILE,
  dnsServers: values.ORRERY_WEBHOOK_DNS_SERVERS,
  timeoutMs: values.ORRERY_WEBHOOK_TIMEOUT_MS,
  maxAttempts: values.ORRERY_WEBHOOK_MAX_ATTEMPTS,
  disableAfterMs: values.ORRERY_WEBHOOK_DISABLE_AFTER_HOURS * 3_600_000,
  retentionMs: values.ORRERY_WEBHOOK_RETENTION_DAYS * 24 * 3_600_000,
  concurrency: {
    perReplica: values.ORRERY_WEBHOOK_ATTEMPTS_PER_REPLICA,
    perOrganization: values.ORRERY_WEBHOOK_ATTEMPTS_PER_ORGANIZATION,
    perWebhook: values.ORRERY_WEBHOOK_ATTEMPTS_PER_WEBHOOK,
  },
})
