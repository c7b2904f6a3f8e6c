import { isDeepStrictEqual } from 'node:util'
import type { Limits } from '#api/domain/access/limits.ts'
import { organizations } from '#api/domain/organizations/table.ts'
import { type CommandAuthor, recordCommand } from '#api/platform/audit/records.ts'
import type { Database } from '#api/platform/database/client.ts'
import { markDirty, organizationMark } from '#api/platform/outbox/outbox.ts'
import { readObject } from '#api/sync/clusters/deletionCause.ts'
import { readOwner } from '#api/sync/rows/synced.ts'
import { isId } from '#shared/ids.ts'
import type { Client } from '#shared/kube/client.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import { labels, namespaceOf } from '#shared/resources/group.ts'
import { readRecordedLimits } from '#shared/resources/namespacePolicy.ts'

type Deps = CommandAuthor & {
  readonly db: Database
  readonly cluster: string
  readonly namespacePrefix: string
  readonly defaultLimits: Limits
  readonly namespaces: Client<KubeObject>
}

/**
 * Gives an organization its row again, unless it has one: with its id as its name, and the limits that the API wrote to its
 * namespace. Its API keys, projects and documents are not in the cluster. Throws if the organization is deleted, or if the API
 * did not make the namespace.
 */
export const restoreOrganization = async (deps: Deps, organizationId: string): Promise<void> => {
  const { db, namespacePrefix, defaultLimits, cluster, clock } = deps
  const name = namespaceOf(namespacePrefix, organizationId)
  const owner = await readOwner(db, organizationId)
  if (owner === 'living') return
  if (owner === 'deleted') throw new Error('Its organization was deleted. Restore the organization, or remove it.')
  const namespace = await readObject(deps.namespaces, { name })
  if (namespace === undefined || !isMadeByApi(namespace, organizationId)) {
    throw new Error(`The API did not make the namespace ${name}. Check its labels.`)
  }
  const now = new Date(clock.now())
  await db.transaction(async (tx) => {
    const made = await tx
      .insert(organizations)
      .values({
        id: organizationId,
        name: organizationId,
        tenantId: organizationId,
        features: {},
        limits: recordedLimits(namespace, defaultLimits),
        createdAt: now,
        updatedAt: now,
      })
      .onConflictDoNothing()
      .returning({ revision: organizations.revision })
    for (const { revision } of made) {
      await markDirty(tx, { kind: 'organization', id: organizationMark(organizationId, cluster), revision })
      await recordCommand(deps, tx, { action: 'adoptOrganization', resources: [organizationId], organizationId })
    }
  })
}

const isMadeByApi = ({ metadata }: KubeObject, organizationId: string): boolean =>
  isId('organization', organizationId) &&
  metadata.labels?.[labels.organization] === organizationId &&
  metadata.labels[labels.managedBy] === 'orrery-api'

/** Returns the limits of the namespace's annotations that differ from the defaults. */
const recordedLimits = ({ metadata }: KubeObject, defaults: Limits): Partial<Limits> => {
  const recorded = Object.entries(readRecordedLimits(metadata))
  const known: Readonly<Record<string, unknown>> = defaults
  return Object.fromEntries(recorded.filter(([name, value]) => !isDeepStrictEqual(value, known[name])))
}
