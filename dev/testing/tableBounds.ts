/** The bound of the rows of a table, and the test that shows it: a file and words of its title. */
type TableBound = { readonly bound: string; readonly file: string; readonly title: string }

const contract = 'test/integration/contract'
const kept = 'test/integration/keptBounds.test.ts'

/** The tables of the database with their bounds, by name. The unit tests fail for a table that is missing here. */
export const tableBounds: Readonly<Record<string, TableBound>> = {
  api_keys: {
    bound: 'maxApiKeys of the organization',
    file: `${contract}/limits.test.ts`,
    title: 'has at most maxApiKeys keys, also after concurrent creates',
  },
  audit_records: {
    bound: 'one for each change, which the limits of requests bound, for the time of retention',
    file: 'test/integration/audit.test.ts',
    title: 'are in a partition of the week, and dropped after the retention',
  },
  bot_deployments: {
    bound: '64 for each world, maxBotDeployments of the organization; erased after their resource',
    file: `${contract}/content.test.ts`,
    title: 'is limited to 64 per world, and to maxBotDeployments per organization',
  },
  bot_events: {
    bound: 'the newest 100 of each bot deployment',
    file: `${contract}/events.test.ts`,
    title: 'bots have conditions and events, without those of other bots',
  },
  builds: {
    bound: '10,000 of each organization',
    file: kept,
    title: 'has at most 10,000 builds and 10,000 revoked tokens',
  },
  cluster_containers: {
    bound: 'the namespaces of organizations and the definitions of each cluster',
    file: 'test/faults/unintendedDeletion.test.ts',
    title: 'a deleted namespace is recreated with all its resources, and REST shows what it waits for',
  },
  cluster_outbox: {
    bound: 'one mark for each row of a world, a bot deployment or an organization',
    file: 'test/integration/outbox.test.ts',
    title: 'merges many changes of one row into one mark with the newest revision',
  },
  cluster_states: {
    bound: 'one for each cluster of the configuration',
    file: 'test/faults/clusterIdentity.test.ts',
    title: 'another cluster gets nothing until it is accepted',
  },
  clusters: {
    bound: 'one for each cluster of the configuration',
    file: 'test/faults/clusters.test.ts',
    title: 'the list is read again: clusters join and leave',
  },
  deployment_logs: {
    bound: '64 KiB for each of the newest 10 runs of a world',
    file: kept,
    title: 'keeps the logs of the newest 10 runs of a world that have one, at most 64 KiB of each',
  },
  deployments: {
    bound: 'the newest 1,000 of each world',
    file: kept,
    title: 'keeps the newest 1,000 deployments of a world',
  },
  document_counts: {
    bound: '8 for each organization; erased after it',
    file: 'test/integration/documentCounts.test.ts',
    title: 'equal the rows after concurrent writes, deletions, restores, retention and purges',
  },
  documents: {
    bound: 'maxDocuments and maxDocumentBytes of the organization; twice that with deleted ones, for a day',
    file: kept,
    title: 'for documents with ever new ids, until rows are swept',
  },
  held_sweeps: {
    bound: 'one for each cluster of the configuration',
    file: 'test/faults/clusterIdentity.test.ts',
    title: 'a sweep that finds more than the limit missing recreates nothing until it is accepted',
  },
  idempotency_keys: {
    bound: '10,000 of each organization, for 24 hours',
    file: kept,
    title: 'accepts 10,000 Idempotency-Keys of an organization, and drops none early',
  },
  kept_documents: {
    bound: 'twice maxDocuments and maxDocumentBytes of the organization, with those that are present',
    file: kept,
    title: 'for documents with ever new ids, until rows are swept',
  },
  launch_contexts: { bound: 'one for each world', file: kept, title: 'for worlds, until deleted ones are purged' },
  organizations: {
    bound: 'ORRERY_LIMIT_ORGANIZATIONS_PER_KEY for each key and its descendants; none for the platform key',
    file: `${contract}/keys.test.ts`,
    title: 'is created by a key and its descendants up to a limit, which the platform key does not have',
  },
  projects: {
    bound: '1,000 present and 2,000 with kept ones, of each organization',
    file: kept,
    title: 'for projects',
  },
  realtime_changes: {
    bound: 'one for each change, which the limits of requests bound, for 15 minutes',
    file: 'api/platform/database/partitions/plan.test.ts',
    title: 'drops a partition as soon as its last change is older than the retention',
  },
  realtime_tickets: {
    bound: '10,000 of each organization, until a minute after their expiry',
    file: 'test/integration/realtime/tickets.test.ts',
    title: 'a credential has at most 1,000 open tickets, and an organization 10,000, and none ends early',
  },
  revoked_tokens: {
    bound: '10,000 of each organization, until they have expired',
    file: kept,
    title: 'has at most 10,000 builds and 10,000 revoked tokens',
  },
  signing_keys: {
    bound: 'one for each rotation by an administrator',
    file: 'test/faults/rotation.test.ts',
    title: 'a retired signing key ends its tokens within a second and leaves the key set',
  },
  sync_findings: {
    bound: '10,000 of each cluster',
    file: 'test/faults/recovery.test.ts',
    title: 'after a restore of the database every newer resource is listed',
  },
  webhook_deliveries: {
    bound: 'for each webhook those of a pending backlog, at which it is deactivated, and 10,000 that have ended',
    file: 'test/integration/webhookQueue.test.ts',
    title: 'deactivates a webhook whose backlog is too long',
  },
  webhooks: {
    bound: 'maxWebhooks of the organization',
    file: 'test/integration/webhooks.test.ts',
    title: 'counts against maxWebhooks',
  },
  world_events: {
    bound: 'the newest 100 of each world',
    file: `${contract}/events.test.ts`,
    title: 'keeps its newest 100 events, in pages, until it is deleted',
  },
  worlds: {
    bound: 'twice maxWorlds of the organization, with kept ones',
    file: kept,
    title: 'for worlds, until deleted ones are purged',
  },
}
