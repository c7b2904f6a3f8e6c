import {
  type Claimed,
  claimTurn,
  organizationOfMark,
  redirectMark,
  retryLater,
  type Turn,
} from '#api/platform/outbox/outbox.ts'
import { isTerminatingNamespace } from '#api/sync/namespaces/namespace.ts'
import type { Echoes } from '#api/sync/rows/echoes.ts'
import { isQuotaUncounted, type Kind, setPushRefusal, setWaitingMessage } from '#api/sync/rows/synced.ts'
import { sleep } from '#shared/clock.ts'
import { isConflict, KubeError } from '#shared/kube/errors.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import { kindList } from '#shared/resources/group.ts'
import { inSpan, type Span, startChild, type Tracing } from '#shared/tracing/tracing.ts'
import type { Pushable, PushRowDeps } from './pushRow.ts'
import { explainRefusedWrite, isRefusedWrite } from './refusedWrite.ts'
import { createSettle, type Pushed, type Settle } from './settle.ts'
import { createPushSlots } from './slots.ts'

/** The dependencies of push. */
export type PushDeps = PushRowDeps & {
  readonly random: () => number
  /** Called with the seconds for which a row was dirty, or with undefined if it still is. */
  readonly onPushed: (seconds: number | undefined) => void
  /** The longest delay before a failed push is retried. */
  readonly maxBackoffMs: number
  /** Records the results of pushes, so that pull need not read them. */
  readonly echoes: Pick<Echoes, 'record'>
  /** Returns the rows of each kind with some ids, by id. */
  readonly readPushable: Readonly<
    Record<Kind, (deps: PushRowDeps, ids: readonly string[]) => Promise<ReadonlyMap<string, Pushable>>>
  >
}

// A burst of starts is not clearly faster with 4 or 6 pushes in progress, which leave more of the API server to the operator.
const slotLimits = { slots: 32, reserve: 8, maxOfOne: 8 }
/** The lease of a push. Another replica repeats a push that outlasts it; the fence and the full intent make this harmless. */
const leaseMs = 5_000
/** The interval for claims without a wake, such as for the marks of a replica that has died. */
const pollMs = 1_000
/** The shortest and the longest pause after a claim. Meanwhile, more rows become due and more pushes end. */
const gatherMs = 5
const maxGatherMs = 40

const firstBackoffMs = 100
/** The first delay after a conflict. The next attempt merges the newer version first. It doubles, up to the maximum. */
const firstConflictMs = 20
/** The longest delay after which a push is retried that a terminating namespace or an uncounted quota refused. */
const transientPollMs = 2_000

/** Returns the pause after a claim: four times its duration, so that claims take a fifth of the time on a busy machine too. */
const gatherAfter = (claimMs: number): number => Math.min(Math.max(gatherMs, 4 * claimMs), maxGatherMs)

/**
 * Applies dirty rows to the cluster until the signal is aborted. `wake` ends a wait early. Any number of replicas can run
 * it: one replica at a time claims a row, and it applies the row as it is after the claim.
 */
export const createPush = (deps: PushDeps) => {
  // The controller is created before the claim, so that a wake during the claim is not lost.
  let woken = new AbortController()
  const settle = createSettle(deps.reconcile.db)
  return {
    wake: (): void => {
      // Without a reason, an abort makes an error with a stack trace.
      woken.abort('woken')
    },
    run: async (signal: AbortSignal): Promise<void> => {
      signal.addEventListener('abort', () => woken.abort(), { once: true })
      const slots = createPushSlots(slotLimits)
      const pushing = new Set<Promise<void>>()
      const start = (claim: Claim): void => {
        const pushed = pushOne(deps, settle, claim).then((againMs) => {
          pushing.delete(pushed)
          if (slots.end(claim.claimed.organizationId)) woken.abort('a slot is free')
          if (againMs !== undefined) deps.reconcile.clock.setTimeout(() => woken.abort(), againMs + 1)
        })
        pushing.add(pushed)
      }
      while (!signal.aborted) {
        woken = new AbortController()
        const startMs = deps.reconcile.clock.monotonic()
        const turn = deps.reconcile.gate.isRefused() ? undefined : slots.next()
        const { claims, last } = turn === undefined ? nothingClaimed : await claimSome(deps, turn)
        const claimed = claims.map((claim) => claim.claimed)
        const mayHaveMore = turn !== undefined && slots.begin(turn, { claimed, last })
        for (const claim of claims) start(claim)
        // While many rows are due, one claim takes several of them. Otherwise those that become due in the pause share the next claim.
        const pauseMs = mayHaveMore ? gatherMs : gatherAfter(deps.reconcile.clock.monotonic() - startMs)
        await sleep(deps.reconcile.clock, pauseMs, signal)
        if (!mayHaveMore) await sleep(deps.reconcile.clock, pollMs, woken.signal)
      }
      await Promise.all(pushing)
    },
  }
}

/** A claimed mark, with its row. A mark of an organization has none. */
type Claim = { readonly claimed: Claimed; readonly row: Pushable | undefined }

type Claims = { readonly claims: readonly Claim[]; readonly last: string | undefined }

const nothingClaimed: Claims = { claims: [], last: undefined }

const claimSome = async (deps: PushDeps, turn: Omit<Turn, 'cluster' | 'leaseMs'>): Promise<Claims> => {
  const { db, cluster, log } = deps.reconcile
  try {
    const { claimed: marks, last } = await claimTurn(db, { ...turn, leaseMs, cluster })
    const idsOf = (kind: Kind) => marks.flatMap((mark) => (mark.kind === kind ? [mark.id] : []))
    const found = await Promise.all(kindList.map((kind) => deps.readPushable[kind](deps, idsOf(kind))))
    const rows = new Map(found.flatMap((ofKind) => [...ofKind]))
    return { claims: marks.map((claimed) => ({ claimed, row: rows.get(claimed.id) })), last }
  } catch (error) {
    // The leases of claims expire, and the rows are claimed again.
    log.warn({ err: error }, 'push: dirty rows cannot be read')
    return nothingClaimed
  }
}

/** Pushes one claimed row. Returns the delay in milliseconds after which it is due again. It never rejects. */
const pushOne = async (deps: PushDeps, settle: Settle, claim: Claim): Promise<number | undefined> => {
  const { claimed, row } = claim
  const push = () => pushAndSettle(deps, settle, claim)
  try {
    await deps.reconcile.gate.check()
    const { againMs } = await (row === undefined ? push() : deps.echoes.record(row, push))
    return againMs
  } catch (error) {
    const againMs = await postpone(deps, claimed, error)
    if (row !== undefined && isRefusedWrite(error)) await recordRefusedPush(deps, row, { id: claimed.id, error })
    return againMs
  }
}

type Settled = { readonly againMs?: number; readonly echo?: KubeObject | undefined }

const pushAndSettle = async (deps: PushDeps, settle: Settle, { claimed, row }: Claim): Promise<Settled> => {
  const { db, tracing } = deps.reconcile
  const pushed = await inSpan(startPushSpan(tracing, claimed), async (span): Promise<Pushed> => {
    const traceparent = span.traceparent ?? claimed.traceparent ?? undefined
    if (claimed.kind === 'organization') await pushOrganization(deps, claimed)
    return row === undefined ? { is: 'done' } : row.push({ isRepeated: claimed.attempts > 0, traceparent })
  })
  switch (pushed.is) {
    case 'later':
      await retryLater(db, claimed, { delayMs: pushed.delayMs })
      return { againMs: pushed.delayMs }
    case 'elsewhere':
      await redirectMark(db, claimed)
      return {}
    case 'done': {
      const seconds = await settle(claimed, pushed.applied)
      deps.onPushed(seconds)
      if (row?.hasPushRefusal) await showPushState(deps, row)
      // The row has been changed, moved or deleted in the meantime. It is due again, and the result may not be on record.
      return seconds === undefined ? { againMs: 0 } : { echo: pushed.echo }
    }
  }
}

/** Applies an organization's limits to its namespace, or the mark that it is deleted. */
const pushOrganization = async ({ namespaces, reconcile }: PushDeps, { id }: Claimed): Promise<void> => {
  const organization = organizationOfMark(id)
  await namespaces.update(organization)
  reconcile.log.info({ organization }, 'push: applied the limits and the state of an organization')
}

/** A row that cannot be pushed is repeated without end. Only its first attempts are traced. */
const maxTracedAttempts = 5

const startPushSpan = (tracing: Tracing, { kind, attempts, traceparent }: Claimed): Span => {
  const parent = attempts < maxTracedAttempts ? (traceparent ?? undefined) : undefined
  return startChild(tracing, `push ${kind}`, { parent, kind: 'producer' })
}

const postpone = async (deps: PushDeps, claimed: Claimed, error: unknown): Promise<number | undefined> => {
  const endsSoon = isTerminatingNamespace(error) || isQuotaUncounted(error)
  const longestMs = endsSoon ? transientPollMs : deps.maxBackoffMs
  const firstMs = isConflict(error) ? firstConflictMs : firstBackoffMs
  const backoffMs = Math.min(longestMs, firstMs * 2 ** Math.min(claimed.attempts, 20))
  const delayMs = Math.max(backoffMs * (0.5 + deps.random() / 2), retryAfterMs(error))
  try {
    await retryLater(deps.reconcile.db, claimed, { delayMs })
    if (isConflict(error)) return delayMs
    deps.reconcile.log.warn(
      { [claimed.kind]: claimed.id, attempts: claimed.attempts, delayMs, err: error },
      'push: postponed',
    )
    if (error instanceof KubeError && claimed.kind !== 'organization') {
      await setWaitingMessage(deps.reconcile.db, claimed.kind, [claimed.id], explainRefusedWrite(error))
    }
    return delayMs
  } catch (again) {
    // The lease expires and the row is claimed again.
    deps.reconcile.log.warn({ [claimed.kind]: claimed.id, err: again }, 'push: delay could not be recorded')
    return undefined
  }
}

/** Says in the row and in its resource that the cluster refuses the push. It never rejects. */
const recordRefusedPush = async (
  deps: PushDeps,
  row: Pushable,
  { id, error }: { id: string; error: KubeError },
): Promise<void> => {
  const { kind } = row
  const message = `The cluster refuses what the API writes: ${explainRefusedWrite(error)}`
  try {
    await setPushRefusal(deps.reconcile.db, kind, id, message)
    await showPushState(deps, row)
  } catch (again) {
    // The next attempt records it.
    deps.reconcile.log.warn({ [kind]: id, err: again }, 'push: a refusal could not be recorded')
  }
}

/** Shows in the condition Synced of the resource whether pushes are refused. It never rejects. */
const showPushState = async ({ reconcile }: PushDeps, { kind, key, show }: Pushable): Promise<void> => {
  try {
    await show()
  } catch (error) {
    // The next attempt shows it, or pull.
    reconcile.log.warn({ [kind]: key, err: error }, 'push: Synced is not written')
  }
}

const retryAfterMs = (error: unknown): number => (error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0)
