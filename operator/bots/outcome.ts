import { countOf, joinSentences } from '#operator/lifecycle/message.ts'
import {
  type Diagnosis,
  explainDisruption,
  explainWaiting,
  podNameTaken,
  seriousDiagnosis,
} from '#operator/pods/diagnosis.ts'
import type { Pod } from '#operator/pods/pod.ts'
import { endOf } from '#operator/pods/podState.ts'
import { lowerFirst } from '#shared/why/wording.ts'
import { explainForbidden } from './forbidden.ts'
import type { Permit } from './granted.ts'
import type { Share } from './limit.ts'
import type { BotPods } from './observe.ts'
import { botName } from './pod.ts'
import { type Ends, openIndexes } from './run.ts'
import type { Outcome } from './status.ts'
import type { PlanInput } from './step.ts'

/** The result of a review of the bots of a run. */
export type Review = {
  readonly pods: BotPods
  readonly share: Share
  readonly permit: Permit
  /** The ends after the review. */
  readonly ends: Ends
  /** The number of bots of the run that are not deleted now. */
  readonly kept: number
  /** The Ready bots, lowest index first. */
  readonly ready: readonly Pod[]
  readonly address: string | undefined
  /** Bots are being created or deleted. */
  readonly isChanging: boolean
  /** The detail of a failure that this review found. */
  readonly detail: string | undefined
}

/** Returns the outcome of a bot deployment whose world is Active. */
export const outcomeOf = (input: PlanInput, review: Review): Outcome => {
  const { share, permit, ends, ready, isChanging } = review
  if (share.excess !== undefined && share.allowed === 0) {
    const trouble = { reason: 'MaxBotsPerWorld', message: share.excess }
    return { phase: 'Pending', ...trouble, trouble, progressing: isChanging }
  }
  if (permit.waiting !== undefined) return waitingOutcome(input, review, permit.waiting)
  const finished = finishedOutcome(input, ends, share.allowed)
  if (finished !== undefined) return finished
  const wanted = openIndexes(ends, share.allowed).length
  const trouble = explainTrouble(input, review)
  const readyCount = ready.length
  if (readyCount === wanted) {
    return {
      phase: 'Running',
      reason: trouble?.reason ?? (wanted === 0 ? 'NoBotsWanted' : 'BotsReady'),
      // A simulated node writes to this field that no container runs.
      message: trouble?.message ?? ready[0]?.status?.message ?? '',
      readyCount,
      ready: trouble === undefined,
      progressing: isChanging,
      trouble,
    }
  }
  return {
    phase: 'Starting',
    reason: trouble?.reason ?? 'Starting',
    message: joinSentences(`${readyCount} of ${wanted} bots are ready.`, trouble?.message ?? explainWait(review)),
    readyCount,
    progressing: true,
    trouble,
  }
}

/** Returns the outcome of a bot deployment that waits for the API. It is Pending if no bot runs or may run. */
const waitingOutcome = (input: PlanInput, review: Review, waiting: string): Outcome => {
  const { share, permit, kept, ready } = review
  const isIdle = share.allowed === 0 || (permit.template === undefined && kept === 0)
  const trouble = explainTrouble(input, review)
  return {
    phase: isIdle ? 'Pending' : 'Starting',
    reason: 'WaitingForApi',
    message: joinSentences(waiting, trouble?.message),
    readyCount: ready.length,
    progressing: true,
    trouble,
  }
}

/** Returns the first trouble that applies; among bots with the same trouble, that of the lowest index. */
const explainTrouble = (input: PlanInput, { pods, share, ends, detail }: Review): Diagnosis | undefined => {
  const { bots, settings } = input
  const forbidden = share.allowed > 0 ? explainForbidden(input) : undefined
  if (forbidden !== undefined) return forbidden
  if (settings.image === undefined && share.allowed > 0) {
    return seriousDiagnosis(
      'NoImage',
      'The operator has no bot image. Ask the platform operator to set ORRERY_DEFAULT_BOT_IMAGE.',
    )
  }
  const taken = [...pods.strangers.keys()].find((index) => index < share.allowed)
  if (taken !== undefined) return podNameTaken(botName(bots.metadata.name, taken))
  for (const [index, pod] of [...pods.current, ...pods.terminating]) {
    const why = explainBot(pod)
    if (why?.serious && index < share.allowed) return { ...why, message: `Bot ${index}: ${lowerFirst(why.message)}` }
  }
  if (ends.failed.size > 0)
    return seriousDiagnosis('RestartBudget', explainFailed(ends, settings.restartBudget), detail)
  return share.excess === undefined ? undefined : seriousDiagnosis('MaxBotsPerWorld', share.excess)
}

/** Returns how the cluster removed a bot, or else why it is not Ready; undefined for one that ended or is being deleted. */
const explainBot = (pod: Pod): Diagnosis | undefined => {
  const isLeaving = pod.metadata.deletionTimestamp !== undefined || endOf(pod, 'bot') !== undefined
  return explainDisruption(pod, 'bot') ?? (isLeaving ? undefined : explainWaiting(pod, 'bot'))
}

const explainWait = ({ ends, address }: Review): string => {
  const count = ends.restarting.size
  if (address === undefined) return "Waiting for the world's server."
  if (count === 0) return ''
  return `${countOf(count, 'bot')} ${count === 1 ? 'is' : 'are'} waiting to restart${lastError(ends)}`
}

/** Returns the outcome once each bot is completed or failed; undefined while one is left, or if none is wanted. */
export const finishedOutcome = (
  { settings }: PlanInput,
  ends: Ends,
  allowed: number,
): Pick<Outcome, 'phase' | 'message' | 'reason' | 'trouble'> | undefined => {
  if (allowed === 0 || openIndexes(ends, allowed).length > 0) return undefined
  if (ends.failed.size === 0)
    return { phase: 'Stopped', reason: 'Completed', message: 'All bots ended with exit code 0.' }
  const trouble = { reason: 'RestartBudget', message: explainFailed(ends, settings.restartBudget) }
  return { phase: 'Error', ...trouble, trouble }
}

const explainFailed = (ends: Ends, budget: number): string =>
  `${countOf(ends.failed.size, 'bot')} failed after ${countOf(budget, 'restart')}${lastError(ends)}`

const lastError = ({ failure }: Ends): string => (failure === undefined ? '.' : `; last error: ${lowerFirst(failure)}`)
