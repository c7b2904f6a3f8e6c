import { z } from 'zod'

const most = (maximum: number, description: string, minimum = 0) =>
  z.int().min(minimum).max(maximum).meta({ description })
const limitFields = {
  maxWorlds: most(1_000_000, 'Number of worlds.'),
  maxWorldCapacity: most(10_000, 'The largest estimatedCapacity of one world.'),
  maxRunningCapacity: most(100_000_000, 'Sum of the capacities with which running worlds were started.'),
  maxBotDeployments: most(1_000_000, 'Number of bot deployments.'),
  maxApiKeys: most(1_000_000, 'Number of API keys.'),
  maxDocuments: most(1_000_000_000, 'Number of documents.'),
  maxDocumentBytes: most(2 ** 50, 'Bytes of the data of all documents, as stored.'),
  maxConnections: most(1_000_000, 'Open realtime connections to one replica of the API.'),
  maxRequestsPerSecond: most(1_000_000, 'Requests per second to one replica of the API, averaged over 10 s.', 1),
}
const limitExample = {
  maxWorlds: 5_000,
  maxWorldCapacity: 10_000,
  maxRunningCapacity: 20_000,
  maxBotDeployments: 1_000,
  maxApiKeys: 1_000,
  maxDocuments: 100_000,
  maxDocumentBytes: 1_073_741_824,
  maxConnections: 25_000,
  maxRequestsPerSecond: 2_000,
}

/** The limits of an organization: its fair share of the platform. */
export const limits = z.object(limitFields).meta({ id: 'Limits', examples: [limitExample] })
export type Limits = z.output<typeof limits>

/** The documents of an organization and the bytes of their data as Postgres stores it, compressed. */
export type DocumentUsage = { readonly documents: number; readonly bytes: number }

/** Counts of documents by organization that cost a write no query. */
export type DocumentCounts = {
  /** Returns the count, at most about 10 s old, with the later writes of this replica. */
  of(organizationId: string): Promise<DocumentUsage>
  /** Adds what a write of this replica changed. */
  add(organizationId: string, change: DocumentUsage): void
}
