import { readCause, readObject } from '#api/sync/clusters/deletionCause.ts'
import { readOwnership } from '#api/sync/merge/merge.ts'
import type { Kind } from '#api/sync/rows/synced.ts'
import { isId } from '#shared/ids.ts'
import type { Client } from '#shared/kube/client.ts'
import { type KubeObject, type ObjectMeta, objectKey } from '#shared/kube/objects.ts'
import { withDefined } from '#shared/optional.ts'
import { startSpanOf } from '#shared/resources/trace.ts'
import { compareRow } from './compare.ts'
import { finish, type Reconciled } from './finish.ts'
import type { Adapter, ReconcileDeps, Types } from './kind.ts'
import { type Facts, type Needs, type Outcome, readEditor } from './record.ts'

/** A comparison repeats if the row changed while facts were read. */
const maxRounds = 4

/**
 * Brings a resource and its row together: reads the resource into the row, and writes what the row answers to the resource, such as
 * the condition Synced. The specs of the row are written by push alone. A resource without a row is adopted if kubectl created it.
 */
export const reconcileRow = async <T extends Types>(
  adapter: Adapter<T>,
  deps: ReconcileDeps,
  cached: T['live'],
): Promise<Reconciled> => {
  const { kind } = adapter
  const startMs = deps.clock.now()
  let seen: Seen<T> = { live: cached, facts: undefined }
  for (let round = 0; round < maxRounds; round += 1) {
    const { live } = seen
    const outcome = await compareInTransaction(adapter, deps, seen)
    if (outcome.is !== 'needs') {
      const settled = outcome.is === 'recorded' ? outcome.settled : undefined
      const attributes = withDefined({ 'orrery.phase': settled })
      if (settled) startSpanOf(deps.tracing, live, `pull ${kind}`, { startMs, attributes }).end()
      return finish(adapter, deps, live, outcome)
    }
    const next = await readFacts(adapter, deps, seen, outcome.needs)
    if (next === undefined) return { isMatched: false, result: undefined }
    seen = next
  }
  throw new Error(`The resource ${objectKey(cached.metadata)} changed while it was read.`)
}

type Seen<T extends Types> = { readonly live: T['live']; readonly facts: Facts | undefined }

const compareInTransaction = async <T extends Types>(
  adapter: Adapter<T>,
  deps: ReconcileDeps,
  seen: Seen<T>,
): Promise<Outcome> => {
  const outcome = await deps.transaction((tx) => compareRow(adapter, deps, tx, seen))
  if (outcome.is === 'recorded') await outcome.written
  return outcome
}

/** Reads the facts that a comparison needs from the API server, with the resource. Undefined if the resource is gone. */
const readFacts = async <T extends Types>(
  adapter: Adapter<T>,
  deps: ReconcileDeps,
  { live, facts }: Seen<T>,
  { cause, replacedUid, rival }: Needs,
): Promise<Seen<T> | undefined> => {
  const { kind } = adapter
  const client = adapter.clientOf(deps)
  const read = cause
    ? await readCause(deps, client, live)
    : { live: await readObject(client, live.metadata, { managedFields: true }), cause: undefined }
  const now = read?.live
  // One name holds one object, so the uid on record is gone if the API server shows this one.
  if (now === undefined || now.metadata.uid !== live.metadata.uid) return undefined
  const other = rival ? await findRival(client, kind, now.metadata) : undefined
  if (replacedUid !== undefined) {
    await deps.gate.check({ fresh: true })
    const { uid } = now.metadata
    deps.log.warn(
      { [kind]: objectKey(now.metadata), uid, replacedUid },
      'pull: the recorded resource was replaced by another with the same name',
    )
  }
  const known = { owns: readOwnership(now.metadata), editor: readEditor(now.metadata) }
  return { live: now, facts: { ...facts, ...known, ...withDefined({ cause: read?.cause, replacedUid, rival: other }) } }
}

/** Finds another resource with the same name in the cluster, if that name is an id. It may be the rightful owner of the id. */
const findRival = async <T extends KubeObject>(
  client: Client<T>,
  kind: Kind,
  { name, uid }: ObjectMeta,
): Promise<string | undefined> => {
  if (!isId(kind, name)) return undefined
  const { items } = await client.list({ fieldSelector: `metadata.name=${name}` })
  const other = items.find(({ metadata }) => metadata.uid !== uid)
  return other && objectKey(other.metadata)
}
