import type { WorldPhase } from '#shared/enumerations.ts'
import { findCause, findRefusal, isReady, isTrouble, type WhyCondition } from './cause.ts'
import { runEndMessages } from './endings.ts'
import { type Action, actionsFor } from './reasons.ts'
import { remedyOf } from './remedies.ts'
import { formatDuration, lowerFirst, splitAdvice, splitFailure } from './wording.ts'

/** The states of a world in an explanation. Failed and NeedsAttention need an action of a user. */
export const whyStates = ['Running', 'Starting', 'Stopped', 'Failed', 'NeedsAttention'] as const
export type WhyState = (typeof whyStates)[number]

/** The maximum number of other worlds that is counted. One more means that there are more. */
export const maxOthers = 1_000

/** The newest run of a world, as its deployment records it. Times are ISO 8601. */
export type WhyRun = {
  readonly runId: string
  readonly restarts: number
  readonly exitCode?: number
  readonly startedAt?: string
  readonly endedAt?: string
}

/** The facts that an explanation is made from. */
export type WhyFacts = {
  readonly name: string
  readonly phase: WorldPhase
  readonly conditions: readonly WhyCondition[]
  readonly run?: WhyRun
  /** Present while the world sleeps, with whether users who enter wake it. */
  readonly sleep?: { readonly wakesOnAccess: boolean }
  /** ISO 8601. The next time at which the schedule starts the world. Absent if it never does. */
  readonly startsAt?: string
  /**
   * A scaling profile with more memory than that of the run: the one that the world has by now, or else the next one that the caller
   * may choose. Null if there is none, absent if it is unknown.
   */
  readonly largerProfile?: { readonly name: string; readonly memoryLimit: string; readonly isChosen: boolean } | null
  /** The number of other worlds with the same condition, at most `maxOthers` + 1. Absent if it is unknown. */
  readonly others?: number
}

/** An explanation of the state of a world. */
export type Why = {
  readonly state: WhyState
  /** The first sentence, with the name of the world. */
  readonly summary: string
  /** The message of the condition that decides. Empty if the summary says it all. */
  readonly cause: string
  /** Absent if nothing is needed. */
  readonly remedy?: string
  /** The reason of the condition that decides. Empty for a Ready world without trouble, and without conditions. */
  readonly reason: string
  /** ISO 8601. Absent if it is unknown. */
  readonly since?: string
  readonly runId?: string
  readonly restarts?: number
  readonly exitCode?: number
  readonly others?: number
  /** All of it in words. */
  readonly sentence: string
  readonly actions: Action[]
}

/** Explains the state of a world in a sentence, with what is known about its cause and what resolves it. */
export const explainWorld = (facts: WhyFacts, nowMs: number): Why => {
  const found = findCause(facts.conditions)
  const state = stateOf(facts, found)
  const cause = found === undefined || found.message === runEndMessages.Stopped ? '' : found.message
  const reason = found === undefined || found.reason === 'ServerReady' ? '' : found.reason
  const remedy = remedyFor(facts, { state, cause, reason })
  const summary = `${summarise(facts, state, reason)}.`
  const { others } = facts
  const { runId, restarts, exitCode } = facts.run ?? {}
  const why = {
    state,
    summary,
    cause,
    ...(remedy !== undefined && { remedy }),
    reason,
    ...(found !== undefined && { since: found.lastTransitionAt }),
    ...(runId !== undefined && { runId }),
    ...(restarts !== undefined && { restarts }),
    ...(exitCode !== undefined && { exitCode }),
    ...(others !== undefined && { others }),
    actions: actionsOf(facts, state, reason),
  }
  return { ...why, sentence: toSentence(why, facts, nowMs) }
}

/**
 * Returns the advice of the cause, or else the remedy of its reason. It names a larger profile for a server without enough memory, and
 * what wakes a world that sleeps.
 */
const remedyFor = (
  { largerProfile, sleep }: WhyFacts,
  { state, cause, reason }: Pick<Why, 'state' | 'cause' | 'reason'>,
): string | undefined => {
  if (reason === 'Idle' && sleep !== undefined) {
    return sleep.wakesOnAccess ? 'A user who enters wakes it, and so does a start.' : 'Start it to wake it.'
  }
  if (reason === 'OutOfMemory' && largerProfile === null) {
    return 'Ask the platform operator for a larger scaling profile.'
  }
  if (reason === 'OutOfMemory' && largerProfile) {
    const profile = `${largerProfile.name} (${largerProfile.memoryLimit})`
    const verb = state === 'Failed' ? 'start' : 'restart'
    return largerProfile.isChosen
      ? `${profile} is chosen: ${verb} the world.`
      : `Choose ${profile} or a larger scaling profile.`
  }
  const remedy = splitAdvice(splitFailure(cause).failure).advice || remedyOf(reason)
  // Nothing happens to a world that has failed, so a wait does not help.
  const isOver = state === 'Failed' && reason !== 'Paused'
  return isOver && (remedy === undefined || remedy.startsWith('Wait')) ? startAgain : remedy
}

const startAgain = 'Start the world again, or ask the platform operator.'

const stateOf = ({ phase, conditions }: WhyFacts, cause: WhyCondition | undefined): WhyState => {
  if (phase === 'Error') return 'Failed'
  if (cause !== undefined && isTrouble(cause)) return 'NeedsAttention'
  if (phase === 'Active') return isReady(conditions) ? 'Running' : 'Starting'
  const isWanted = cause?.reason === 'StartWaits' || cause?.reason === 'WaitingForApi'
  return phase === 'Starting' || isWanted ? 'Starting' : 'Stopped'
}

const summarise = (facts: WhyFacts, state: WhyState, reason: string): string => {
  const { name, phase, conditions } = facts
  if (reason === 'Paused') return `${summarise(facts, state, '')}, and its changes are paused`
  if (reason === 'Deleting') return `${name} is being deleted`
  switch (state) {
    case 'Running':
      return `${name} is running`
    case 'Failed':
      return `${name} is not running`
    case 'Starting':
      if (phase === 'Active') return `${name} is restarting`
      return phase === 'Starting' ? `${name} is starting` : `${name} waits to start`
    case 'Stopped':
      return `${name} ${rests(facts, reason)}`
    case 'NeedsAttention':
      if (isReady(conditions)) return `${name} is running, but needs attention`
      if (phase === 'Stopped' || phase === 'Inactive') return `${name} is not running, and needs attention`
      return reason === 'NodeUnreachable' ? `${name} may be unreachable` : `${name} is not ready`
  }
}

/** Returns the words for a world that nothing starts. */
const rests = ({ phase, conditions, sleep }: WhyFacts, reason: string): string => {
  if (phase === 'Inactive') return 'was never started'
  if (reason === 'Idle' && sleep !== undefined) return 'sleeps'
  return reason === 'Stopped' && isProgressing(conditions) ? 'is stopping' : 'is stopped'
}

const isProgressing = (conditions: readonly WhyCondition[]): boolean =>
  conditions.some(({ type, status }) => type === 'Progressing' && status === 'True')

/** The actions that cannot help a world that has failed, besides its start. */
const useless: readonly Action['kind'][] = ['restart', 'start', 'wait']

/** Returns what resolves a reason. An edit acts at the next start, so a start or a restart follows it. */
const actionsOf = ({ phase, largerProfile }: WhyFacts, state: WhyState, reason: string): Action[] => {
  if (state === 'Stopped' && reason === '') return [{ kind: 'start' }]
  const all = actionsFor(reason)
  const [isLargest, isChosen] =
    reason === 'OutOfMemory' ? [largerProfile === null, largerProfile?.isChosen === true] : [false, false]
  const edits = isLargest || isChosen ? [] : all.filter(({ kind }) => kind === 'edit')
  const rest = all.filter(({ kind }) => kind !== 'edit')
  const others: Action[] = isLargest ? [{ kind: 'askOperator' }, ...rest] : rest
  if (state === 'Failed' && reason !== 'Paused') {
    const useful = others.filter(({ kind }) => !useless.includes(kind))
    const isHelpless = edits.length + useful.length === 0
    return [...edits, { kind: 'start' }, ...(isHelpless ? [{ kind: 'askOperator' } as const] : useful)]
  }
  const isUnderWay = phase === 'Starting' || phase === 'Active'
  const needsRestart = isUnderWay && (isChosen || edits.length > 0)
  return [...edits, ...(needsRestart ? [{ kind: 'restart' } as const] : []), ...others]
}

type Parts = Omit<Why, 'sentence'>

/** The words of a cause that the summary says already. */
const repeated = /^(Paused: |The world is being deleted\. ?)/

const toSentence = (why: Parts, facts: WhyFacts, nowMs: number): string => {
  const { consequence, failure } = splitFailure(why.cause.replace(repeated, ''))
  const [first = '', ...more] = splitAdvice(failure).facts.split(/(?<=\.) (?=[A-Z])/)
  // A note on a server that is Ready is no reason for anything.
  const [what, next = ''] =
    why.reason === '' ? [''] : tell(why, facts, { consequence, failure: first.replace(/\.$/, '') })
  const stem = `${why.summary.slice(0, -1)}${ageOf(why, nowMs)}`
  const sentences = [
    what === '' ? `${stem}.` : `${stem}: ${what}.`,
    next,
    ...(why.reason === '' ? [] : more),
    adviseOn(why),
    nextStartOf(why, facts, nowMs),
    compare(why),
    alsoOf(why, facts),
    sleeplessnessOf(why, facts),
  ]
  return sentences.filter(Boolean).join(' ')
}

/** Returns the words for a cause after the name of the world, and the sentence that follows them. */
const tell = (
  { exitCode, cause }: Parts,
  { run }: WhyFacts,
  { consequence, failure }: { consequence: string; failure: string },
): [what: string, next?: string] => {
  const code = exitCode === undefined || cause.includes('exit code') ? '' : ` (exit code ${exitCode})`
  const [, times] = /^Failed (.*);/.exec(consequence) ?? []
  if (times !== undefined) {
    const last = failure.replace(/^the (restarted )?server\b/i, times === 'once' ? 'It' : 'The last time it')
    return [
      `its server failed ${times}${times === 'once' ? '' : within(run)} and is not restarted any more`,
      `${last}${code}.`,
    ]
  }
  if (consequence.endsWith('in time')) return ['its server was not ready in time', failure && `The reason: ${failure}.`]
  return consequence.startsWith('Restart')
    ? [`${toClause(failure)}${code}`, `This is ${lowerFirst(consequence)}.`]
    : [toClause(failure)]
}

/** The longest run for which the failures are related to its length. Those of a longer one may all be recent. */
const shortRunMs = 3_600_000

const within = (run: WhyRun | undefined): string => {
  const lengthMs = Date.parse(run?.endedAt ?? '') - Date.parse(run?.startedAt ?? '')
  return lengthMs < shortRunMs ? ` in ${formatDuration(lengthMs)}` : ''
}

/** Returns a sentence as a clause about the server of a world that was just named. */
const toClause = (sentence: string): string =>
  lowerFirst(sentence).replace(/\bthe (?=(restarted )?server\b(?! of))/, 'its ')

/** Returns how long a state lasts, if it should end. */
const ageOf = ({ state, since }: Parts, nowMs: number): string => {
  const ms = nowMs - Date.parse(since ?? '')
  return (state === 'Starting' || state === 'NeedsAttention') && ms >= 1_000 ? ` (for ${formatDuration(ms)})` : ''
}

/** A start belongs to what the user can do, which is before the question to the operator. */
const adviseOn = ({ remedy = '', state }: Parts): string => {
  if (state !== 'Failed' || /\bstart\b/i.test(remedy)) return remedy
  const which = /\bother worlds|another world\b/.test(remedy) ? 'this one' : 'it'
  return remedy.replace(/(, or ask the platform operator.*)?\.$/, `, then start ${which}$1.`)
}

/** Returns when the schedule starts a world that does not run. A paused world starts after its pause, and a deleted one does not. */
const nextStartOf = ({ state, reason }: Parts, { startsAt, phase }: WhyFacts, nowMs: number): string => {
  const isOver = state !== 'Starting' && ['Stopped', 'Inactive', 'Error'].includes(phase)
  if (startsAt === undefined || !isOver || ['Paused', 'Deleting', 'TerminationStuck'].includes(reason ?? '')) return ''
  return `The schedule starts it in ${formatDuration(Date.parse(startsAt) - nowMs)}, at ${startsAt.replace('.000Z', 'Z')}.`
}

/** Returns what was refused, if it is not the cause. */
const alsoOf = ({ reason }: Parts, { conditions }: WhyFacts): string => {
  const refusal = findRefusal(conditions)
  return refusal === undefined || refusal.reason === reason ? '' : `Also, ${lowerFirst(refusal.message)}`
}

/** Returns why a world that runs without trouble will not sleep although it should. */
const sleeplessnessOf = ({ state }: Parts, { conditions }: WhyFacts): string => {
  const idle = state === 'Running' ? conditions.find(({ type }) => type === 'Idle') : undefined
  return idle?.status === 'Unknown' ? idle.message.replace(/^The world /, 'It ') : ''
}

const compare = ({ others = 0, state }: Parts): string => {
  if (others === 0 || (state !== 'Failed' && state !== 'NeedsAttention')) return ''
  if (others > maxOthers) return `More than ${maxOthers.toLocaleString('en')} other worlds have this problem.`
  return others === 1
    ? '1 other world has this problem.'
    : `${others.toLocaleString('en')} other worlds have this problem.`
}
