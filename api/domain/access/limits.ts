import { z } from 'zod'

const limitField = (maximum: number, description: string, minimum = 0) =>
  z.int().min(minimum).max(maximum).meta({ description })
const limitFields = {
  maxWorlds: limitField(1_000_000, 'Maximum number of worlds.'),
  maxWorldCapacity: limitField(10_000, 'Maximum estimatedCapacity of one world.'),
  maxRunningCapacity: limitField(100_000_000, 'Maximum sum of the capacities with which running worlds were started.'),
  maxBotDeployments: limitField(1_000_000, 'Maximum number of bot deployments.'),
  maxApiKeys: limitField(1_000_000, 'Maximum number of API keys.'),
  maxDocuments: limitField(1_000_000_000, 'Maximum number of documents.'),
  maxDocumentBytes: limitField(2 ** 50, 'Maximum size of the data of all documents, in bytes as stored.'),
  maxConnections: limitField(1_000_000, 'Maximum number of realtime connections to one replica of the API.'),
  maxRequestsPerSecond: limitField(
    1_000_000,
    'Maximum requests per second to one replica of the API, averaged over 10 s.',
    1,
  ),
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

/** Cached counts of documents by organization. A write needs no query for them. */
export type DocumentCounts = {
  /** Returns the count, at most about 10 s old, with the later writes of this replica. */
  of(organizationId: string): Promise<DocumentUsage>
  /** Adds the change of a write of this replica. */
  add(organizationId: string, change: DocumentUsage): void
}
