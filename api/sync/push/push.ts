import { isDeepStrictEqual } from 'node:util'
import { sql } from 'drizzle-orm'
import { type BotRow, botDeployments } from '#api/domain/bots/table.ts'
import { type PushedWorld, pushedColumns, worlds } from '#api/domain/worlds/table.ts'
import type { Database } from '#api/platform/database/client.ts'
import { prepared } from '#api/platform/database/prepared.ts'
import {
  type Claimed,
  claimTurn,
  organizationOfMark,
  redirectMark,
  retryLater,
  type Turn,
} from '#api/platform/outbox/outbox.ts'
import type { ClusterGate } from '#api/sync/clusters/clusterGate.ts'
import { toMergePatch } from '#api/sync/merge/leaves.ts'
import { isCurrent } from '#api/sync/merge/observe.ts'
import { type createNamespaces, isTerminatingNamespace } from '#api/sync/namespaces/namespace.ts'
import { isSettled } from '#api/sync/pull/syncedCondition.ts'
import { type Desired, desiredBots, desiredWorld, withTraceparent } from '#api/sync/rows/desired.ts'
import { type Echoes, echoOf } from '#api/sync/rows/echoes.ts'
import {
  type Applied,
  clearWaitingMessage,
  isQuotaUncounted,
  isReplaced,
  type Kind,
  removeRow,
  type SyncedRow,
  setPushRefusal,
  setWaitingMessage,
} from '#api/sync/rows/synced.ts'
import { type Clock, sleep } from '#shared/clock.ts'
import type { Client, Resource } from '#shared/kube/client.ts'
import { isConflict, isForbidden, isNotFound, KubeError } from '#shared/kube/errors.ts'
import { type KubeObject, objectKey } from '#shared/kube/objects.ts'
import type { Log } from '#shared/log.ts'
import { withDefined } from '#shared/optional.ts'
import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import { fieldManagers, isPaused, namespaceOf } from '#shared/resources/group.ts'
import type { World } from '#shared/resources/world.ts'
import { inSpan, type Span, startChild, type Tracing } from '#shared/tracing/tracing.ts'
import { moveAway } from './move.ts'
import { explainRefusedWrite, isRefusedWrite } from './refusedWrite.ts'
import { createSettle, type Settle } from './settle.ts'
import { createTurns } from './turns.ts'

export type PushDeps = {
  readonly db: Database
  readonly worlds: Client<World>
  readonly bots: Client<BotDeployment>
  readonly namespaces: ReturnType<typeof createNamespaces>
  /** The cluster whose rows are pushed. */
  readonly cluster: string
  readonly namespacePrefix: string
  /** Keeps rows from being pushed to a cluster that is not the accepted one. */
  readonly gate: ClusterGate
  readonly tracing: Tracing
  readonly clock: Clock
  readonly random: () => number
  readonly log: Log
  /** Called with the seconds for which a row was dirty, or with undefined if it still is. */
  readonly onPushed: (seconds: number | undefined) => void
  /** The longest delay before a failed push is retried. */
  readonly maxBackoffMs: number
  /** Records the results of pushes, so that pull need not read them. */
  readonly echoes: Pick<Echoes, 'record'>
  /** Returns a resource from the cache of pull, or undefined if it is not there. A replica that does not pull has no cache. */
  readonly cached: {
    readonly world: (key: string) => World | undefined
    readonly bot: (key: string) => BotDeployment | undefined
  }
  /** Reads a live resource into its row, as pull does, so that push works while no replica pulls. */
  readonly merge: {
    readonly world: (live: World) => Promise<void>
    readonly bot: (live: BotDeployment) => Promise<void>
  }
}

// A burst of starts is not clearly faster with 4 or 6 pushes in progress, which leave more of the API server to the operator.
const slots = { slots: 32, reserve: 8, maxOfOne: 8 }
/** The lease of a push. Another replica repeats a push that outlasts it; the fence and the full intent make this harmless. */
const leaseMs = 5_000
/** The interval for claims without a wake, such as for the marks of a replica that has died. */
const pollMs = 1_000
/** The wait after a claim, and after the first of all pushes in progress has ended. Others become due or end in it. */
const gatherMs = 5
const maxGatherMs = 40

const firstBackoffMs = 100
/** The first delay after a conflict. The next attempt merges the newer version first. It doubles, up to the maximum. */
const firstConflictMs = 20
/** The interval for checking a deletion that waits for its server, in case its event is missed. */
const deletionPollMs = 2_000
/** The interval for checking a paused resource. Changes of its row wait for the end of the pause. */
const pausedPollMs = 2_000
/** The longest delay after which a push is retried that a terminating namespace or an uncounted quota refused. */
const transientPollMs = 2_000
/** The interval for checking whether the bot rows of a deleted world are gone. */
const botsPollMs = 200

/** Returns the wait after a claim. On a busy machine a claim takes longer, and so does the wait: claims take a fifth of the time. */
const gatherAfter = (claimMs: number): number => Math.min(Math.max(gatherMs, 4 * claimMs), maxGatherMs)

/**
 * Applies dirty rows to the cluster until the signal is aborted. `wake` ends a wait early. Any number of replicas can run
 * it: one replica at a time claims a row, and it applies the row as it is after the claim.
 */
export const createPush = (deps: PushDeps) => {
  // The controller is created before the claim, so that a wake during the claim is not lost.
  let woken = new AbortController()
  const settle = createSettle(deps.db)
  return {
    wake: (): void => {
      // Without a reason, an abort makes an error with a stack trace.
      woken.abort('woken')
    },
    run: async (signal: AbortSignal): Promise<void> => {
      signal.addEventListener('abort', () => woken.abort(), { once: true })
      const turns = createTurns(slots)
      const pushing = new Set<Promise<void>>()
      const start = (claim: Claim): void => {
        const pushed = pushOne(deps, settle, claim).then((againMs) => {
          pushing.delete(pushed)
          if (turns.end(claim.claimed.organizationId)) woken.abort('a slot is free')
          if (againMs !== undefined) deps.clock.setTimeout(() => woken.abort(), againMs + 1)
        })
        pushing.add(pushed)
      }
      while (!signal.aborted) {
        woken = new AbortController()
        const startMs = deps.clock.monotonic()
        const turn = deps.gate.isRefused() ? undefined : turns.next()
        const { claims, last } = turn === undefined ? nothingClaimed : await claimSome(deps, turn)
        const claimed = claims.map((claim) => claim.claimed)
        const mayHaveMore = turn !== undefined && turns.begin(turn, { claimed, last })
        for (const claim of claims) start(claim)
        // While many rows are due, one claim takes several of them. Otherwise those that become due in the pause share the next claim.
        const pauseMs = mayHaveMore ? gatherMs : gatherAfter(deps.clock.monotonic() - startMs)
        await sleep(deps.clock, pauseMs, signal)
        if (!mayHaveMore) await sleep(deps.clock, pollMs, woken.signal)
      }
      await Promise.all(pushing)
    },
  }
}

/** A claimed mark, with its row as it was after the claim. A mark of an organization has none. */
type Claim = {
  readonly claimed: Claimed
  readonly world: PushedWorld | undefined
  readonly bots: BotRow | undefined
}

type Claims = { readonly claims: readonly Claim[]; readonly last: string | undefined }

const nothingClaimed: Claims = { claims: [], last: undefined }

const rowOf = ({ world, bots }: Claim): PushedWorld | BotRow | undefined => world ?? bots

const claimSome = async ({ db, cluster, log }: PushDeps, turn: Omit<Turn, 'cluster' | 'leaseMs'>): Promise<Claims> => {
  try {
    const { claimed: marks, last } = await claimTurn(db, { ...turn, leaseMs, cluster })
    const idsOf = (kind: Kind) => marks.flatMap((mark) => (mark.kind === kind ? [mark.id] : []))
    const [worldIds, botIds] = [idsOf('world'), idsOf('bot')]
    const [worldRows, botRows] = await Promise.all([
      worldIds.length === 0 ? [] : worldsQuery(db).execute({ ids: worldIds }),
      botIds.length === 0 ? [] : botsQuery(db).execute({ ids: botIds }),
    ])
    const worldOf = new Map(worldRows.map((row) => [row.id, row]))
    const botsOf = new Map(botRows.map((row) => [row.id, row]))
    const claims = marks.map((claimed) => ({ claimed, world: worldOf.get(claimed.id), bots: botsOf.get(claimed.id) }))
    return { claims, last }
  } catch (error) {
    // The leases of claims expire, and the rows are claimed again.
    log.warn({ err: error }, 'push: dirty rows cannot be read')
    return nothingClaimed
  }
}

/** Pushes one claimed row. Returns the delay in milliseconds after which it is due again. It never rejects. */
const pushOne = async (deps: PushDeps, settle: Settle, claim: Claim): Promise<number | undefined> => {
  const { claimed, world } = claim
  const row = rowOf(claim)
  try {
    await deps.gate.check()
    if (row === undefined) return (await pushAndSettle(deps, settle, claim)).againMs
    const name = { kind: world === undefined ? 'bot' : 'world', key: objectKey(referenceOf(deps, row)) } as const
    return (await deps.echoes.record(name, () => pushAndSettle(deps, settle, claim))).againMs
  } catch (error) {
    const againMs = await postpone(deps, claimed, error)
    if (isRefusedWrite(error)) await recordRefusedPush(deps, claim, error)
    return againMs
  }
}

type Settled = { readonly againMs?: number; readonly echo?: KubeObject | undefined }

const pushAndSettle = async (deps: PushDeps, settle: Settle, claim: Claim): Promise<Settled> => {
  const { claimed } = claim
  const pushed = await inSpan(startPushSpan(deps.tracing, claimed), (span) =>
    pushers[claimed.kind](deps, claim, span.traceparent ?? claimed.traceparent ?? undefined),
  )
  if (typeof pushed === 'number') {
    await retryLater(deps.db, claimed, { delayMs: pushed })
    return { againMs: pushed }
  }
  if (pushed === 'elsewhere') {
    await redirectMark(deps.db, claimed)
    return {}
  }
  const seconds = await settle(claimed, pushed)
  deps.onPushed(seconds)
  if (rowOf(claim)?.pushRefusal) await showPushState(deps, claim)
  // The row has been changed, moved or deleted in the meantime. It is due again, and the result may not be on record.
  return seconds === undefined ? { againMs: 0 } : { echo: pushed?.echo }
}

/** A row that cannot be pushed is repeated without end. Only its first attempts are traced. */
const maxTracedAttempts = 5

const startPushSpan = (tracing: Tracing, { kind, attempts, traceparent }: Claimed): Span => {
  const parent = attempts < maxTracedAttempts ? (traceparent ?? undefined) : undefined
  return startChild(tracing, `push ${kind}`, { parent, kind: 'producer' })
}

/**
 * The result of a push: the delay in milliseconds after which the row must be checked again, 'elsewhere' for a row of another
 * cluster, or the applied resource, which must be recorded. Undefined if there is nothing to record.
 */
type Pushed = number | 'elsewhere' | (Applied & { readonly echo: KubeObject | undefined }) | undefined

const worldsQuery = prepared((db) =>
  db
    .select(pushedColumns)
    .from(worlds)
    .where(sql`${worlds.id} = any(${sql.placeholder('ids')})`)
    .prepare('pushed_worlds'),
)

const botsQuery = prepared((db) =>
  db
    .select()
    .from(botDeployments)
    .where(sql`${botDeployments.id} = any(${sql.placeholder('ids')})`)
    .prepare('pushed_bots'),
)

/** The cache of a repeated push. The first attempt may have failed because the cache was stale. */
const nothingCached = (): undefined => undefined

const pushWorld = (deps: PushDeps, { claimed, world }: Claim, traceparent: string | undefined): Promise<Pushed> =>
  pushRow(deps, {
    kind: 'world',
    traceparent,
    client: deps.worlds,
    cached: claimed.attempts === 0 ? deps.cached.world : nothingCached,
    isRepeated: claimed.attempts > 0,
    row: world,
    readAgain: async () => (await worldsQuery(deps.db).execute({ ids: [claimed.id] }))[0],
    toDesired: (row) => desiredWorld(row, deps.namespacePrefix),
    isStatusIgnored: (row, applied) =>
      applied.status === undefined ||
      (!isCurrent(row, applied.status) && isSettled(applied, { ...row, pushRefusal: null }, row.id)),
    merge: deps.merge.world,
  })

const pushBots = (deps: PushDeps, { claimed, bots }: Claim, traceparent: string | undefined): Promise<Pushed> =>
  pushRow(deps, {
    kind: 'bot',
    traceparent,
    client: deps.bots,
    cached: claimed.attempts === 0 ? deps.cached.bot : nothingCached,
    isRepeated: claimed.attempts > 0,
    row: bots,
    readAgain: async () => (await botsQuery(deps.db).execute({ ids: [claimed.id] }))[0],
    toDesired: (row) => desiredBots(row, deps.namespacePrefix),
    isStatusIgnored: (_, { status }) => status === undefined,
    merge: deps.merge.bot,
  })

/** A row to push, of either kind. */
type Target<T, Row, Spec> = {
  readonly kind: Kind
  /** The trace of the request that changed the row. */
  readonly traceparent: string | undefined
  readonly client: Client<T & KubeObject>
  readonly cached: (key: string) => T | undefined
  /** An earlier attempt may have made the resource without recording it. */
  readonly isRepeated: boolean
  /** The row as it was after the claim. */
  readonly row: Row | undefined
  readonly readAgain: () => Promise<Row | undefined>
  readonly toDesired: (row: Row) => Desired<Spec>
  /** Reports whether pull would ignore the status of the applied resource. */
  readonly isStatusIgnored: (row: Row, applied: T) => boolean
  readonly merge: (live: T) => Promise<void>
}

/** Applies an organization's limits to its namespace, or the mark that it is deleted. */
const pushOrganization = async (deps: PushDeps, { claimed }: Claim): Promise<undefined> => {
  const organization = organizationOfMark(claimed.id)
  await deps.namespaces.update(organization)
  deps.log.info({ organization }, 'push: applied the limits and the state of an organization')
}

const pushers = { world: pushWorld, bot: pushBots, organization: pushOrganization } as const

/** Applies or deletes the resource of a row. */
const pushRow = async <T extends KubeObject & { spec: Revisioned }, Row extends SyncedRow, Spec extends Revisioned>(
  deps: PushDeps,
  target: Target<T, Row, Spec>,
): Promise<Pushed> => {
  const { kind, client, row: known } = target
  if (known === undefined) return undefined
  if (known.cluster !== deps.cluster) return 'elsewhere'
  if (known.deletingAt === null) {
    const move = await moveAway(deps, { kind, row: known, client, merge: target.merge })
    if (move !== undefined) return move === 'moved' ? undefined : move
  }
  const live = known.deletingAt === null ? await readLive(deps, target, known) : undefined
  // If the resource is paused between this check and the apply, its version has changed and the apply is refused.
  if (live !== undefined && isPaused(live)) return pausedPollMs
  const row = live === undefined ? known : await mergeFirst(target, known, live)
  if (row === undefined) return undefined
  if (row.deletingAt !== null) return remove(deps, kind, row, client)
  await deps.namespaces.ensure(row.organizationId)
  const desired = withTraceparent(target.toDesired(row), live, target.traceparent)
  const resourceVersion = live && (await removeUnwanted(client, live, desired))
  const wanted = { ...desired, metadata: { ...desired.metadata, ...withDefined({ resourceVersion }) } }
  const apply = (object: Desired<Spec>) =>
    client.apply(object, { fieldManager: fieldManagers.api, force: true }).catch(async (error: unknown) => {
      if (isQuotaUncounted(error)) await deps.namespaces.recount(row.organizationId)
      // Without its namespace the API has no rights there, so the answer is a 403.
      if (isNotFound(error) || isForbidden(error)) deps.namespaces.forget(row.organizationId)
      throw isMissingDefinition(error) ? missingDefinition(client.resource) : error
    })
  let applied = await apply(wanted)
  let { spec } = desired
  if (row.resourceUid === null) {
    // A grant names the uid of its resource, which only the first apply tells.
    const { uid = null, resourceVersion: appliedResourceVersion = null } = applied.metadata
    const complete = target.toDesired({ ...row, resourceUid: uid, appliedResourceVersion })
    if (!isDeepStrictEqual(complete.spec, spec)) {
      applied = await apply(withTraceparent(complete, applied, target.traceparent))
      spec = complete.spec
    }
  }
  await clearWaitingMessage(deps.db, kind, row)
  deps.log.info({ [kind]: row.id, revision: row.revision }, 'push: applied')
  const echo = echoOf(applied, spec, target.isStatusIgnored(row, applied))
  return { kind, row, spec, metadata: applied.metadata, echo }
}

/** Reports whether the API server does not know the kind. A missing namespace is named in the answer. */
const isMissingDefinition = (error: unknown): boolean =>
  error instanceof KubeError && isNotFound(error) && !error.message.includes('namespaces "')

const missingDefinition = ({ plural, group }: Resource): KubeError =>
  new KubeError({ message: `The definition ${plural}.${group} is missing in the cluster. Install it.`, status: 404 })

type Revisioned = { readonly revision?: number }

/**
 * Returns the resource on record, or undefined if there is none. A cached resource with the version on record needs no request. The
 * apply names that version, so the API server refuses it if the resource has changed.
 */
const readLive = async <T extends KubeObject>(
  deps: PushDeps,
  { client, cached, isRepeated }: Pick<Target<T, SyncedRow, unknown>, 'client' | 'cached' | 'isRepeated'>,
  row: SyncedRow,
): Promise<T | undefined> => {
  if (row.resourceUid === null && !isRepeated) return undefined
  const reference = referenceOf(deps, row)
  const known = cached(objectKey(reference))
  const isOnRecord =
    known?.metadata.uid === row.resourceUid && known.metadata.resourceVersion === row.appliedResourceVersion
  if (isOnRecord) return known
  try {
    return await client.get(reference)
  } catch (error) {
    if (!isNotFound(error)) throw error
    return undefined
  }
}

/** Merges a version of the resource that no pull has read yet. Returns the row after that. */
const mergeFirst = async <T extends KubeObject, Row extends SyncedRow, Spec>(
  { merge, readAgain }: Target<T, Row, Spec>,
  row: Row,
  live: T,
): Promise<Row | undefined> => {
  if (live.metadata.resourceVersion === row.appliedResourceVersion) return row
  await merge(live)
  return readAgain()
}

/**
 * Removes the fields that the row does not have and that others manage, which an apply would leave. The same request writes
 * the whole spec, so that a reader of the revision never sees such a field. Returns the new resourceVersion, or undefined
 * if there was nothing to remove.
 */
const removeUnwanted = async <T extends KubeObject & { spec: object }>(
  client: Client<T>,
  live: T,
  { metadata, spec }: Desired<unknown>,
): Promise<string | undefined> => {
  const { annotations } = metadata
  const patch = toMergePatch(live.spec, spec)
  if (patch === undefined) return undefined
  const { uid, resourceVersion } = live.metadata
  const patched = await client.patch(
    metadata,
    { metadata: { uid, resourceVersion, ...withDefined({ annotations }) }, spec: patch },
    { fieldManager: fieldManagers.api },
  )
  return patched.metadata.resourceVersion
}

const referenceOf = (deps: PushDeps, row: SyncedRow) => ({
  namespace: namespaceOf(deps.namespacePrefix, row.organizationId),
  name: row.resourceName,
})

/** Deletes the resource, or deletes the row if the resource no longer exists. A deleted organization ends pauses. */
const remove = async <T extends KubeObject>(
  deps: PushDeps,
  kind: Kind,
  row: SyncedRow,
  client: Client<T>,
): Promise<number | undefined> => {
  const reference = referenceOf(deps, row)
  try {
    const live = await client.get(reference)
    if (isPaused(live) && (await deps.namespaces.stateOf(row.organizationId)) !== 'deleted') return pausedPollMs
    const { metadata } = live
    // A resource that kubectl created is replaced by another world, whose row is another one.
    if (isReplaced(row, metadata)) return await finishRemoval(deps, kind, row)
    if (metadata.deletionTimestamp === undefined) {
      await client.delete(reference, withDefined({ uid: metadata.uid }))
    }
    return deletionPollMs
  } catch (error) {
    if (!isNotFound(error)) throw error
    await deps.gate.check({ fresh: true })
    return await finishRemoval(deps, kind, row)
  }
}

const finishRemoval = async (deps: PushDeps, kind: Kind, row: SyncedRow): Promise<number | undefined> => {
  if (!(await removeRow(deps.db, kind, row))) return botsPollMs
  deps.log.info({ [kind]: row.id }, 'push: deleted')
  return undefined
}

const postpone = async (deps: PushDeps, claimed: Claimed, error: unknown): Promise<number | undefined> => {
  const endsSoon = isTerminatingNamespace(error) || isQuotaUncounted(error)
  const longestMs = endsSoon ? transientPollMs : deps.maxBackoffMs
  const firstMs = isConflict(error) ? firstConflictMs : firstBackoffMs
  const backoffMs = Math.min(longestMs, firstMs * 2 ** Math.min(claimed.attempts, 20))
  const delayMs = Math.max(backoffMs * (0.5 + deps.random() / 2), retryAfterMs(error))
  try {
    await retryLater(deps.db, claimed, { delayMs })
    if (isConflict(error)) return delayMs
    deps.log.warn({ [claimed.kind]: claimed.id, attempts: claimed.attempts, delayMs, err: error }, 'push: postponed')
    if (error instanceof KubeError && claimed.kind !== 'organization') {
      await setWaitingMessage(deps.db, claimed.kind, claimed.id, explainRefusedWrite(error))
    }
    return delayMs
  } catch (again) {
    // The lease expires and the row is claimed again.
    deps.log.warn({ [claimed.kind]: claimed.id, err: again }, 'push: delay could not be recorded')
    return undefined
  }
}

/** Says in the row and in its resource that the cluster refuses the push. It never rejects. */
const recordRefusedPush = async (deps: PushDeps, claim: Claim, error: KubeError): Promise<void> => {
  const { kind, id } = claim.claimed
  if (kind === 'organization') return
  const message = `The cluster does not take over what the API has: ${explainRefusedWrite(error)}`
  try {
    await setPushRefusal(deps.db, kind, id, message)
    await showPushState(deps, claim)
  } catch (again) {
    // The next attempt records it.
    deps.log.warn({ [kind]: id, err: again }, 'push: a refusal could not be recorded')
  }
}

/** Compares the resource with its row once more, so that its condition Synced shows whether pushes are refused. It never rejects. */
const showPushState = async (deps: PushDeps, { claimed, world, bots }: Claim): Promise<void> => {
  try {
    if (world !== undefined) await deps.merge.world(await deps.worlds.get(referenceOf(deps, world)))
    if (bots !== undefined) await deps.merge.bot(await deps.bots.get(referenceOf(deps, bots)))
  } catch (error) {
    // The next attempt shows it, or pull.
    if (!isNotFound(error)) deps.log.warn({ [claimed.kind]: claimed.id, err: error }, 'push: Synced is not written')
  }
}

const retryAfterMs = (error: unknown): number => (error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0)
