import { and, eq, sql } from 'drizzle-orm'
import { type FindingRow, syncFindings } from '#api/domain/clusters/table.ts'
import type { Database } from '#api/platform/database/client.ts'
import type { Kind } from '#api/sync/rows/synced.ts'
import { idOfUid } from '#shared/ids.ts'
import type { EventRecorder } from '#shared/kube/events.ts'
import { type KubeObject, objectKey } from '#shared/kube/objects.ts'
import type { Log } from '#shared/log.ts'

/** The limit of recorded findings. Further ones are only logged, each time that they change. */
const maxFindings = 10_000

/** The type of a finding. For an orphan also: its organization is deleted, or has no row. */
export type FindingCause = FindingRow['type'] | 'DeletedOrganization' | 'LostOrganization'

/** Records resources that pull cannot match with a row. */
export type Findings = {
  /** Logs and records a finding and sends an event on the resource, once for each resource and cause. */
  report(kind: Kind, live: KubeObject, cause: FindingCause): Promise<void>
  /** Removes the finding of a resource, if there is one. `key` is `namespace/name`. */
  forget(kind: Kind, key: string): Promise<void>
  /** Returns the keys of the resources of a kind that have a finding. */
  keys(kind: Kind): readonly string[]
  /** Reads the recorded findings. A new leader calls it before it reports any. */
  load(): Promise<void>
  /** Removes the findings of a kind whose resources no longer exist. */
  prune(kind: Kind, present: { has(key: string): boolean }): Promise<void>
}

const messages: Readonly<Record<FindingCause, string>> = {
  Frozen:
    'The resource has a higher revision than its row, as after a restore of the database. Nothing is written to either. ' +
    'Run "orrery sync release" to continue.',
  Orphan:
    'The resource was made by the API and has no row, as after a restore of the database. ' +
    'Run "orrery sync adopt" to give it a row, or "orrery sync remove" to delete it.',
  DeletedOrganization:
    'The organization of the namespace was deleted, and the resource has no row. The operator stops it. ' +
    'Run "orrery sync remove" to delete it, or restore the organization.',
  LostOrganization:
    'The resource is in the namespace of an organization, and neither it nor its organization has a row, as after a restore ' +
    'of the database or a purge. Run "orrery sync adopt" to give both a row again, or delete the resource with kubectl.',
  Stranger:
    'The API ignores this resource because another resource owns this name. ' +
    'Delete this resource and create it under another name.',
}

/** Creates the record of the findings of a cluster. */
export const createFindings = (options: {
  db: Database
  cluster: string
  events: Pick<EventRecorder, 'record'>
  log: Log
}): Findings => {
  const { db, cluster, events, log } = options
  const known = new Map<string, Pick<FindingRow, 'id' | 'message'>>()
  const keyOf = (kind: Kind, key: string): string => `${kind} ${key}`
  const keys = (kind: Kind): string[] =>
    [...known.keys()].flatMap((full) => {
      const [ofKind, key = ''] = full.split(' ')
      return ofKind === kind ? [key] : []
    })
  const remove = async (kind: Kind, key: string): Promise<void> => {
    const finding = known.get(keyOf(kind, key))
    if (finding === undefined) return
    await db.delete(syncFindings).where(and(eq(syncFindings.id, finding.id), eq(syncFindings.cluster, cluster)))
    known.delete(keyOf(kind, key))
  }
  return {
    report: async (kind, live, cause) => {
      const { namespace = '', name, uid = '' } = live.metadata
      const key = keyOf(kind, objectKey(live.metadata))
      const id = idOfUid('finding', uid)
      const before = known.get(key)
      const message = messages[cause]
      if (before?.id === id && before.message === message) return
      if (before?.id !== id) await remove(kind, objectKey(live.metadata))
      const type = cause === 'LostOrganization' || cause === 'DeletedOrganization' ? 'Orphan' : cause
      if (known.size < maxFindings) {
        await db
          .insert(syncFindings)
          .values({ id, cluster, type, kind, namespace, name, uid, message, createdAt: sql`now()` })
          .onConflictDoUpdate({ target: syncFindings.id, set: { type, message } })
        known.set(key, { id, message })
      }
      log[type === 'Stranger' ? 'warn' : 'error'](
        { kind: live.kind, namespace, name, uid },
        `pull: ${type}: ${message}`,
      )
      events.record(live, { type: 'Warning', reason: type, action: 'Syncing', note: message })
    },
    forget: remove,
    keys,
    load: async () => {
      known.clear()
      const rows = await db.select().from(syncFindings).where(eq(syncFindings.cluster, cluster)).limit(maxFindings)
      for (const { id, message, kind, namespace, name } of rows) {
        known.set(keyOf(kind, objectKey({ namespace, name })), { id, message })
      }
    },
    prune: async (kind, present) => {
      for (const key of keys(kind)) if (!present.has(key)) await remove(kind, key)
    },
  }
}
