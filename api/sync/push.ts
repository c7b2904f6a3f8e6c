import { eq } from 'drizzle-orm'
import { botDeployments } from '#api/domain/bots/table.ts'
import { worlds } from '#api/domain/worlds/table.ts'
import type { Database } from '#api/platform/database/client.ts'
import { type Claimed, claimMarks, retryLater, settleClaim } from '#api/platform/outbox/outbox.ts'
import { type Clock, sleep } from '#shared/clock.ts'
import type { Client } from '#shared/kube/client.ts'
import { isConflict, isNotFound, KubeError } from '#shared/kube/errors.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import type { Log } from '#shared/log.ts'
import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import { fieldManagers, isPaused, namespaceOf } from '#shared/resources/group.ts'
import type { World } from '#shared/resources/world.ts'
import { type Desired, desiredBots, desiredWorld } from './desired.ts'
import type { createNamespaces } from './namespace.ts'
import {
  clearWaitingMessage,
  type Kind,
  recordApplied,
  removeRow,
  type SyncedRow,
  setWaitingMessage,
} from './synced.ts'

export type PushDeps = {
  readonly db: Database
  readonly worlds: Client<World>
  readonly bots: Client<BotDeployment>
  readonly namespaces: ReturnType<typeof createNamespaces>
  readonly namespacePrefix: string
  readonly clock: Clock
  readonly random: () => number
  readonly log: Log
  /** The longest delay before a failed push is retried. */
  readonly maxBackoffMs: number
}

const batchSize = 32
/** If a push outlasts its lease, another replica repeats it. The fence and the full intent make this harmless. */
const leaseMs = 5_000
const pollMs = 500
const firstBackoffMs = 100
/** The delay after a conflict. Pull sees the newer version within milliseconds. */
const conflictMs = 20
/** The interval for checking a deletion that waits for its server, in case its event is missed. */
const deletionPollMs = 2_000
/** The interval for checking a paused resource. Changes of its row wait for the end of the pause. */
const pausedPollMs = 2_000
/** The interval for checking whether the bot rows of a deleted world are gone. */
const botsPollMs = 200

/**
 * Applies dirty rows to the cluster until the signal is aborted. `wake` ends a wait early. Any number of replicas can run
 * it: one replica at a time claims a row, and it applies the row as it is after the claim.
 */
export const createPush = (deps: PushDeps) => {
  // The controller is created before the claim, so that a wake during the claim is not lost.
  let woken = new AbortController()
  return {
    wake: (): void => woken.abort(),
    run: async (signal: AbortSignal): Promise<void> => {
      signal.addEventListener('abort', () => woken.abort(), { once: true })
      let free = batchSize
      let freed: (() => void) | undefined
      while (!signal.aborted) {
        woken = new AbortController()
        const claimed = free > 0 ? await claimSome(deps, free) : []
        for (const row of claimed) {
          free -= 1
          void pushOne(deps, row).then((againMs) => {
            free += 1
            freed?.()
            if (againMs !== undefined) deps.clock.setTimeout(() => woken.abort(), againMs + 1)
          })
        }
        if (free === 0) await new Promise<void>((resolve) => (freed = resolve))
        else if (claimed.length === 0) await sleep(deps.clock, pollMs, woken.signal)
      }
      while (free < batchSize) await new Promise<void>((resolve) => (freed = resolve))
    },
  }
}

const claimSome = async (deps: PushDeps, limit: number): Promise<Claimed[]> => {
  try {
    return await claimMarks(deps.db, { limit, leaseMs, nowMs: deps.clock.now() })
  } catch (error) {
    deps.log.warn({ err: error }, 'push: dirty rows cannot be read')
    return []
  }
}

/** Pushes one claimed row. Returns the delay in milliseconds after which it is due again. It never rejects. */
const pushOne = async (deps: PushDeps, claimed: Claimed): Promise<number | undefined> => {
  try {
    const again = claimed.kind === 'world' ? await pushWorld(deps, claimed.id) : await pushBots(deps, claimed.id)
    if (again === undefined) await settleClaim(deps.db, claimed)
    else await retryLater(deps.db, claimed, { delayMs: again, nowMs: deps.clock.now() })
    return again
  } catch (error) {
    return postpone(deps, claimed, error)
  }
}

const pushWorld = async (deps: PushDeps, id: string): Promise<number | undefined> => {
  const [row] = await deps.db.select().from(worlds).where(eq(worlds.id, id))
  return row && pushRow(deps, 'world', row, deps.worlds, () => desiredWorld(row, deps.namespacePrefix))
}

const pushBots = async (deps: PushDeps, id: string): Promise<number | undefined> => {
  const [row] = await deps.db.select().from(botDeployments).where(eq(botDeployments.id, id))
  return row && pushRow(deps, 'bot', row, deps.bots, () => desiredBots(row, deps.namespacePrefix))
}

/** Applies or deletes the resource of a row. Returns a delay in milliseconds if the row must be checked again. */
const pushRow = async <T extends KubeObject, Spec extends { readonly revision?: number }>(
  deps: PushDeps,
  kind: Kind,
  row: SyncedRow,
  client: Client<T>,
  toDesired: () => Desired<Spec>,
): Promise<number | undefined> => {
  if (row.deletingAt !== null) return remove(deps, kind, row, client)
  if (await isPausedNow(deps, row, client)) return pausedPollMs
  await deps.namespaces.ensure(row.organizationId)
  const desired = toDesired()
  const live = await client.apply(desired, { fieldManager: fieldManagers.api, force: true }).catch((error: unknown) => {
    if (isNotFound(error)) deps.namespaces.forget(row.organizationId)
    throw error
  })
  await recordApplied(deps.db, kind, row, { spec: desired.spec, metadata: live.metadata })
  await clearWaitingMessage(deps.db, kind, row)
  deps.log.info({ [kind]: row.id, revision: row.revision }, 'push: applied')
  return undefined
}

/**
 * Reports whether the resource is paused now. If it is paused between this check and the apply, its version has changed and
 * the API server refuses the apply.
 */
const isPausedNow = async <T extends KubeObject>(
  deps: PushDeps,
  row: SyncedRow,
  client: Client<T>,
): Promise<boolean> => {
  if (row.resourceUid === null) return false
  try {
    return isPaused(await client.get(referenceOf(deps, row)))
  } catch (error) {
    if (!isNotFound(error)) throw error
    return false
  }
}

const referenceOf = (deps: PushDeps, row: SyncedRow) => ({
  namespace: namespaceOf(deps.namespacePrefix, row.organizationId),
  name: row.id,
})

/** Deletes the resource, or deletes the row if the resource no longer exists. */
const remove = async <T extends KubeObject>(
  deps: PushDeps,
  kind: Kind,
  row: SyncedRow,
  client: Client<T>,
): Promise<number | undefined> => {
  const reference = referenceOf(deps, row)
  try {
    const live = await client.get(reference)
    if (isPaused(live)) return pausedPollMs
    const { metadata } = live
    if (metadata.deletionTimestamp === undefined) {
      await client.delete(reference, metadata.uid === undefined ? {} : { uid: metadata.uid })
    }
    return deletionPollMs
  } catch (error) {
    if (!isNotFound(error)) throw error
    if (!(await removeRow(deps.db, kind, row))) return botsPollMs
    deps.log.info({ [kind]: row.id }, 'push: deleted')
    return undefined
  }
}

const postpone = async (deps: PushDeps, claimed: Claimed, error: unknown): Promise<number | undefined> => {
  const backoffMs = Math.min(deps.maxBackoffMs, firstBackoffMs * 2 ** Math.min(claimed.attempts, 20))
  const delayMs = Math.max(backoffMs * (0.5 + deps.random() / 2), retryAfterMs(error))
  try {
    // After a conflict, pull must process the newer version first. The row stays dirty and is retried soon.
    if (isConflict(error)) {
      await retryLater(deps.db, claimed, { delayMs: conflictMs, nowMs: deps.clock.now() })
      return conflictMs
    }
    deps.log.warn({ [claimed.kind]: claimed.id, attempts: claimed.attempts, delayMs, err: error }, 'push: postponed')
    await retryLater(deps.db, claimed, { delayMs, nowMs: deps.clock.now() })
    if (error instanceof KubeError) await setWaitingMessage(deps.db, claimed.kind, claimed.id, error)
    return delayMs
  } catch (again) {
    // The lease expires and the row is claimed again.
    deps.log.warn({ [claimed.kind]: claimed.id, err: again }, 'push: delay could not be recorded')
    return undefined
  }
}

const retryAfterMs = (error: unknown): number => (error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0)
