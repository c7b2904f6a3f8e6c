import type { BotRun } from '#shared/resources/botDeployment.ts'
import { isPaused } from '#shared/resources/group.ts'
import { fateOf, isCounted } from './bot.ts'
import { type Share, shareOf } from './limit.ts'
import { type Host, isTaken, type Observed, observeHost, observePods } from './observe.ts'
import { outlookOf } from './outlook.ts'
import { planDeletion, planEnded, planWithoutWorld } from './over.ts'
import type { BotPod } from './pod.ts'
import { endRun, expiresAtMs, type Memory, memoryOf, openIndexes, remember, toInstant } from './run.ts'
import { pausedStatus, statusOf } from './status.ts'
import { inBursts, type Plan, type PlanInput, type Step } from './step.ts'

/**
 * Plans one reconcile of a BotDeployment. What must not be lost is recorded before it is acted on: the run is in the
 * status before its first bot is made, and how a bot ended is in the status before the pod that shows it is deleted.
 */
export const plan = (input: PlanInput): Plan => {
  const { bots, world, nowMs } = input
  if (isPaused(bots)) return { steps: [], status: pausedStatus(input) }
  if (bots.metadata.deletionTimestamp !== undefined) return inBursts(planDeletion(input))
  const host = observeHost(bots.spec.worldName, world)
  if (!host.active) return inBursts(planWithoutWorld(input, host))
  const run = bots.status?.run
  if (run?.id !== host.runId) return inBursts(planNewRun(input, host))
  if (run.endReason !== undefined) return inBursts(planEnded(input, run))
  if (nowMs >= expiresAtMs(bots, run)) return inBursts(planEnded(input, endRun(run, 'Expired', nowMs)))
  return inBursts(planRun(input, run, host))
}

type ActiveHost = Host & { readonly active: true }

/** The world has a run that these bots are not in yet: it is recorded first, and the bots of an older one stop. */
const planNewRun = (input: PlanInput, host: ActiveHost): Plan => {
  const planned = planRun(input, { id: host.runId, startedAt: toInstant(input.nowMs) }, host)
  if (planned.status.phase !== 'Pending') {
    return { ...planned, steps: planned.steps.filter(({ verb }) => verb === 'deletePod'), requeueAfterMs: 0 }
  }
  // Where no bot may run, nothing starts, and the duration does not begin.
  const { run: _, ...status } = planned.status
  return { ...planned, status }
}

const planRun = (input: PlanInput, run: BotRun, { address }: ActiveHost): Plan => {
  const { bots, nowMs } = input
  const share = shareOf(bots, input.siblings, input.world)
  const observed = observePods(bots, input.pods, run.id)
  const known = memoryOf(run)
  const pass = lookAtBots(input, { observed, known, share, address })
  const missing = openIndexes(known, share.allowed).filter((index) => !isTaken(observed, index))
  const waitMs = (index: number): number => (known.restarting.get(index)?.afterMs ?? 0) - nowMs
  const creations = missing
    .filter((index) => waitMs(index) <= 0)
    .flatMap((index): Step[] => {
      if (address === undefined || input.settings.image === undefined) return []
      const restarts = known.restarting.get(index)?.restarts ?? 0
      return [{ verb: 'createPod', bot: { index, restarts, runId: run.id, address } }]
    })
  const deletions = [...observed.older.values(), ...pass.goes].map((pod): Step => ({ verb: 'deletePod', pod }))
  const steps = [...deletions, ...creations]
  const moving = steps.length > 0 || observed.leaving.size > 0
  const outlook = outlookOf(input, { ...pass, observed, share, address, moving })
  const status = statusOf(input, { ...outlook, run: remember(run, pass.memory, bots.spec.count) })
  const waitsMs = [expiresAtMs(bots, run) - nowMs, ...missing.map(waitMs).filter((ms) => ms > 0)]
  const againMs = pass.recorded ? 0 : waitsMs.reduce((a, b) => Math.min(a, b))
  return { steps, status, ...(Number.isFinite(againMs) ? { requeueAfterMs: againMs } : {}) }
}

type Look = { observed: Observed; known: Memory; share: Share; address: string | undefined }

/** Looks at every bot of the run, lowest index first: who goes, who is Ready, and what is to be remembered. */
const lookAtBots = ({ settings, nowMs }: PlanInput, { observed, known, share, address }: Look) => {
  const goes: BotPod[] = []
  const ready: BotPod[] = []
  const completed = new Set(known.completed)
  const failed = new Set(known.failed)
  const restarting = new Map(known.restarting)
  let failure: string | undefined
  let recorded = false
  for (const [index, pod] of observed.current) {
    const fate = fateOf({ settings, nowMs, index, pod, memory: known, allowed: share.allowed, address })
    if (fate.kind === 'goes') goes.push(pod)
    else if (fate.kind === 'completed') completed.add(index)
    else if (fate.kind === 'failed') {
      failure ??= fate.failure
      if (fate.restart !== undefined) restarting.set(index, fate.restart)
      else {
        failed.add(index)
        restarting.delete(index)
      }
      // A bot that lives bears its number of restarts itself.
    } else if (!isCounted(known, index, pod)) restarting.delete(index)
    if (fate.kind === 'ready') ready.push(pod)
    recorded ||= fate.kind === 'completed' || fate.kind === 'failed'
  }
  const memory: Memory = { completed, failed, restarting, failure: failure ?? known.failure }
  return { goes, ready, memory, recorded }
}
