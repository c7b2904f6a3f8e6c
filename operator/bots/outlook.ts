import { type Diagnosis, serious } from '#operator/refusal.ts'
import { explainTrouble } from './diagnosis.ts'
import type { Share } from './limit.ts'
import { isFinished, type Observed } from './observe.ts'
import { overOutlook, tellGivenUp } from './over.ts'
import { type BotPod, botName } from './pod.ts'
import { type Memory, openIndexes } from './run.ts'
import type { Outlook } from './status.ts'
import type { PlanInput } from './step.ts'

/** What one pass over the bots of a run saw. */
export type Seen = {
  readonly observed: Observed
  readonly share: Share
  /** What is remembered after the pass. */
  readonly memory: Memory
  /** The bots that are Ready, lowest index first. */
  readonly ready: readonly BotPod[]
  readonly address: string | undefined
  /** Bots are made, or go. */
  readonly moving: boolean
}

/** What a deployment whose world is Active tells of its bots. */
export const outlookOf = (input: PlanInput, seen: Seen): Outlook => {
  const { share, memory, ready, moving } = seen
  if (share.excess !== undefined && share.allowed === 0) {
    const trouble = { reason: 'MaxBotsPerWorld', message: share.excess }
    return { phase: 'Pending', ...trouble, trouble, progressing: moving }
  }
  const over = overOutlook(input, memory, share.allowed)
  if (over !== undefined) return over
  const wanted = openIndexes(memory, share.allowed).length
  const trouble = troubleOf(input, seen)
  const readyCount = ready.length
  if (readyCount === wanted) {
    // What is simulated says so in the message of its pod.
    const message = trouble?.message ?? ready[0]?.status?.message ?? ''
    const reason = trouble?.reason ?? (wanted === 0 ? 'NoBotsWanted' : 'BotsReady')
    return { phase: 'Running', reason, message, readyCount, ready: trouble === undefined, progressing: moving, trouble }
  }
  const message = [`${readyCount} of ${wanted} bots are ready`, trouble?.message ?? tellWait(seen)]
  return {
    phase: 'Starting',
    reason: trouble?.reason ?? 'Starting',
    message: message.filter(Boolean).join('; '),
    ...{ readyCount, progressing: true, trouble },
  }
}

/** What somebody should look at. The first that applies is told; of many bots with the same trouble, the lowest. */
const troubleOf = ({ bots, settings }: PlanInput, { observed, share, memory }: Seen): Outlook['trouble'] => {
  if (settings.image === undefined && share.allowed > 0) {
    return { reason: 'NoImage', message: 'the operator has no image of bots: set ORRERY_DEFAULT_BOT_IMAGE for it' }
  }
  const taken = [...observed.foreign.keys()].find((index) => index < share.allowed)
  if (taken !== undefined) return takenName(botName(bots.metadata.name, taken))
  for (const [index, pod] of observed.current) {
    const need = isFinished(pod) ? undefined : explainTrouble(pod)
    if (need !== undefined) return { reason: need.reason, message: `bot ${index}: ${need.message}` }
  }
  if (memory.failed.size > 0) {
    const message = tellGivenUp(memory.failed.size, settings.restartBudget, memory.failure)
    return { reason: 'RestartBudget', message }
  }
  return share.excess === undefined ? undefined : { reason: 'MaxBotsPerWorld', message: share.excess }
}

/** A stranger has the name of a bot's pod. */
export const takenName = (name: string): Diagnosis =>
  serious('PodNameTaken', `the pod ${name} belongs to something else: delete it, and the bot is made`)

const tellWait = ({ memory, address }: Seen): string => {
  const again = memory.restarting.size
  if (address === undefined) return "waiting for the world's server to be back"
  if (again === 0) return ''
  return `${again} failed and ${again === 1 ? 'is' : 'are'} made again, each after a wait; ${memory.failure ?? ''}`
}
