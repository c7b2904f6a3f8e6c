import { pausedStatus } from '#operator/lifecycle/conditions.ts'
import { expiresAtMs, toInstant } from '#operator/lifecycle/duration.ts'
import { type Case, planFirst, requeueAfter } from '#operator/lifecycle/plan.ts'
import type { Pod } from '#operator/pods/pod.ts'
import { podDeletionStep } from '#operator/pods/termination.ts'
import { doBotsWait } from '#shared/domain/phases.ts'
import { withDefined } from '#shared/optional.ts'
import type { BotDeploymentStatus, BotRun } from '#shared/resources/botDeployment.ts'
import { isPaused } from '#shared/resources/group.ts'
import { decideBot, isCounted } from './bot.ts'
import { planClosed, planDeleted, planEnded, planInactiveWorld } from './ended.ts'
import { explainForbidden } from './forbidden.ts'
import { permitOf } from './granted.ts'
import { shareOf } from './limit.ts'
import { type ActiveWorld, isNameInUse, observePods, observeWorld } from './observe.ts'
import { outcomeOf, type Review } from './outcome.ts'
import { repairSteps } from './repair.ts'
import { type Ends, endRun, openIndexes, parseEnds, recordEnds } from './run.ts'
import { planWith } from './status.ts'
import { limitSteps, type Plan, type PlanInput, type Step } from './step.ts'

/**
 * Plans one reconcile of a BotDeployment. The cases are tried from top to bottom, and the first that applies returns the
 * plan.
 *
 *   paused          annotation orrery.dev/paused, not closed     change nothing
 *   closed          the organization was deleted                 stop all bots
 *   deleted         the resource has a deletionTimestamp         stop all bots
 *   worldNotActive  the world has no Active run                  stop all bots; wait for a run
 *   newRun          the bots are not in the world's run yet      record the run, stop the bots of older runs
 *   ended           the bots of this run have ended              stop all bots
 *   expired         their duration has passed                    end them
 *   underWay        none of these                                create and delete bots, one decision each (bot.ts)
 *
 * State is recorded before any action that depends on it, so a crash loses nothing: the run before its first bot is created,
 * and the end of a bot before its pod is deleted.
 */
export const plan = (input: PlanInput): Plan => limitSteps(paused(input) ?? repairFirst(input))

/** Plans bots that are not paused. Labels are put back first, so that the cache shows what the later steps change. */
const repairFirst = (input: PlanInput): Plan => {
  const planned = planFirst([closed, deleted, worldNotActive, worldActive], input)
  return { ...planned, steps: [...repairSteps(input), ...planned.steps] }
}

const closed: Case<PlanInput, Plan> = (input) =>
  input.policy.isClosed ? (deleted(input) ?? planClosed(input)) : undefined

const paused: Case<PlanInput, Plan> = ({ bots, policy, nowMs }) => {
  if (!isPaused(bots) || policy.isClosed) return undefined
  const status: BotDeploymentStatus = { ...bots.status, phase: bots.status?.phase ?? 'Pending' }
  return { steps: [], status: pausedStatus(status, nowMs) }
}

const deleted: Case<PlanInput, Plan> = (input) =>
  input.bots.metadata.deletionTimestamp === undefined ? undefined : planDeleted(input)

const worldNotActive: Case<PlanInput, Plan> = (input) => {
  const state = observeWorld(input)
  return state.isActive ? undefined : planInactiveWorld(input, state)
}

/** The world has an Active run. */
const worldActive: Case<PlanInput, Plan> = (input) => {
  const state = observeWorld(input)
  return state.isActive ? planFirst([newRun, ended, expired, underWay], { ...input, activeWorld: state }) : undefined
}

type ActiveInput = PlanInput & { readonly activeWorld: ActiveWorld }

const newRun: Case<ActiveInput, Plan> = (input) => {
  const { bots, activeWorld, nowMs } = input
  if (bots.status?.run?.id === activeWorld.runId) return undefined
  const planned = planRun(input, { id: activeWorld.runId, startedAt: toInstant(nowMs) })
  if (!doBotsWait(planned.status)) {
    return { ...planned, steps: planned.steps.filter(({ verb }) => verb === 'deletePod'), requeueAfterMs: 0 }
  }
  // No bot may run, so the run and its duration do not begin.
  const { run: _, ...status } = planned.status
  return { ...planned, status }
}

const ended: Case<ActiveInput, Plan> = (input) => {
  const run = input.bots.status?.run
  return run?.endReason === undefined ? undefined : planEnded(input, run)
}

const expired: Case<ActiveInput, Plan> = (input) => {
  const { bots, nowMs } = input
  const run = bots.status?.run
  if (run === undefined || nowMs < expiresAtMs(bots.spec.durationMinutes, run.startedAt)) return undefined
  return planEnded(input, endRun(run, 'Expired', nowMs))
}

const underWay: Case<ActiveInput, Plan> = (input) => {
  const run = input.bots.status?.run
  return run && planRun(input, run)
}

const planRun = (input: ActiveInput, run: BotRun): Plan => {
  const { bots, activeWorld, settings, nowMs } = input
  const { address } = activeWorld
  const permit = permitOf(bots, input.policy)
  const share = shareOf(input)
  const pods = observePods(bots, input.pods, run.id)
  const recorded = parseEnds(run)
  const { deletions, hasNewEnds, ...reviewed } = reviewBots(input, { pods, ends: recorded, share, address })
  const { template } = permit
  const mayCreate = settings.image !== undefined && template !== undefined && explainForbidden(input) === undefined
  const open = mayCreate ? openIndexes(recorded, share.allowed) : []
  const missing = open.filter((index) => !isNameInUse(pods, index))
  const waitMs = (index: number): number => (recorded.restarting.get(index)?.afterMs ?? 0) - nowMs
  const creations = missing
    .filter((index) => waitMs(index) <= 0)
    .flatMap((index): Step[] => {
      if (address === undefined) return []
      const restarts = recorded.restarting.get(index)?.restarts ?? 0
      return [{ verb: 'createPod', bot: { index, restarts, runId: run.id, address } }]
    })
  const steps = [
    ...[...pods.older.values(), ...deletions].map((pod) => podDeletionStep(pod, 'bot', settings)),
    ...creations,
  ]
  const kept = pods.current.size - deletions.length
  const isChanging = steps.length > 0 || pods.terminating.size > 0
  const outcome = outcomeOf(input, { ...reviewed, pods, share, permit, kept, address, isChanging })
  const expiresInMs = expiresAtMs(bots.spec.durationMinutes, run.startedAt) - nowMs
  const restartsMs = missing.map(waitMs).filter((ms) => ms > 0)
  const planned = planWith(
    input,
    { ...outcome, run: recordEnds(run, reviewed.ends, bots.spec.count) },
    { steps, ...(hasNewEnds ? { requeueAfterMs: 0 } : earliest([expiresInMs, ...restartsMs])) },
  )
  return { ...planned, ...withDefined({ detail: reviewed.detail ?? planned.detail }) }
}

/** There may be thousands of waits, too many for the arguments of one call. */
const earliest = (waitsMs: readonly number[]): { requeueAfterMs?: number } =>
  requeueAfter(waitsMs.reduce((a, b) => Math.min(a, b)))

type Reviewed = Pick<Review, 'ends' | 'ready' | 'detail'> & {
  readonly deletions: readonly Pod[]
  /** An end was found that the status does not have yet. */
  readonly hasNewEnds: boolean
}

/** Decides about each bot of the run, lowest index first, and collects the decisions. */
const reviewBots = (
  { settings, nowMs }: PlanInput,
  { pods, ends, share, address }: Pick<Review, 'pods' | 'ends' | 'share' | 'address'>,
): Reviewed => {
  const deletions: Pod[] = []
  const ready: Pod[] = []
  const completed = new Set(ends.completed)
  const failed = new Set(ends.failed)
  const restarting = new Map(ends.restarting)
  let firstFailure: { readonly failure: string; readonly detail: string | undefined } | undefined
  let hasNewEnds = false
  for (const [index, pod] of pods.current) {
    const decision = decideBot({ settings, nowMs, index, pod, ends, allowed: share.allowed, address })
    switch (decision.kind) {
      case 'delete':
        deletions.push(pod)
        break
      case 'recordCompletion':
        completed.add(index)
        hasNewEnds = true
        break
      case 'recordFailure':
        firstFailure ??= decision
        if (decision.restart === undefined) failed.add(index)
        if (decision.restart === undefined) restarting.delete(index)
        else restarting.set(index, decision.restart)
        hasNewEnds = true
        break
      case 'ready':
        ready.push(pod)
    }
    // A bot that runs carries its number of restarts itself.
    if ((decision.kind === 'ready' || decision.kind === 'starting') && !isCounted(ends, index, pod)) {
      restarting.delete(index)
    }
  }
  const after: Ends = { completed, failed, restarting, failure: firstFailure?.failure ?? ends.failure }
  return { deletions, ready, ends: after, hasNewEnds, detail: firstFailure?.detail }
}
