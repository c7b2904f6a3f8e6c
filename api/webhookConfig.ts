import { BlockList } from 'node:net'
import { decimal, list, type Settings, type SettingTable } from '#shared/environment.ts'
import { certificates, dnsServer, networks } from './variables.ts'

/** The settings of the delivery of webhooks. */
export const webhookSettings = {
  allowedNetworks: ['ORRERY_WEBHOOK_ALLOWED_NETWORKS', networks.default(new BlockList())],
  authorities: ['ORRERY_WEBHOOK_CA_FILE', certificates.default([])],
  dnsServers: ['ORRERY_WEBHOOK_DNS_SERVERS', list(dnsServer).default([])],
  timeoutMs: ['ORRERY_WEBHOOK_TIMEOUT_MS', decimal(100, 60_000).default(10_000)],
  maxAttempts: ['ORRERY_WEBHOOK_MAX_ATTEMPTS', decimal(1, 30).default(10)],
  disableAfterHours: ['ORRERY_WEBHOOK_DISABLE_AFTER_HOURS', decimal(0, 24 * 365).default(5 * 24)],
  retentionDays: ['ORRERY_WEBHOOK_RETENTION_DAYS', decimal(0.01, 365).default(14)],
  concurrency: {
    perReplica: ['ORRERY_WEBHOOK_ATTEMPTS_PER_REPLICA', decimal(1, 1_000).default(64)],
    perOrganization: ['ORRERY_WEBHOOK_ATTEMPTS_PER_ORGANIZATION', decimal(1, 1_000).default(16)],
    perWebhook: ['ORRERY_WEBHOOK_ATTEMPTS_PER_WEBHOOK', decimal(1, 1_000).default(4)],
  },
} as const satisfies SettingTable

/** Converts the settings of webhooks. */
export const toWebhooks = ({ disableAfterHours, retentionDays, ...settings }: Settings<typeof webhookSettings>) => ({
  ...settings,
  disableAfterMs: disableAfterHours * 3_600_000,
  retentionMs: retentionDays * 24 * 3_600_000,
})
