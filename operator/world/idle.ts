import type { ConditionState } from '#operator/lifecycle/conditions.ts'
import { toInstant } from '#operator/lifecycle/duration.ts'
import { findCondition } from '#operator/lifecycle/events.ts'
import { countOf, joinSentences } from '#operator/lifecycle/message.ts'
import type { AwakeReason, WorldIdle } from '#shared/domain/idle.ts'
import { haveBotsEnded } from '#shared/domain/phases.ts'
import { withDefined } from '#shared/optional.ts'
import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import type { World, WorldRun, WorldStatus } from '#shared/resources/world.ts'
import { endRun } from './run.ts'
import type { PlanInput } from './step.ts'

const conditionType = 'Idle'
/** The longest age of an answer that ends a run. A player may have come since an older one. */
const maxAnswerAgeMs = 10_000

/** A run whose server is Ready, with all that its sleep depends on. `recorded` is the status if it is about the same pod. */
type ReadyRun = Pick<PlanInput, 'world' | 'queried' | 'hasBots' | 'nowMs'> & {
  readonly run: WorldRun
  readonly recorded: WorldStatus | undefined
}

/**
 * Returns the sleep of a run whose server is Ready: what keeps it awake, or since when nobody is in the world. Undefined without
 * idleStopMinutes. The time since which nobody is there is kept from the record, and is at most now.
 */
export const idleOfReady = (ready: ReadyRun): WorldIdle | undefined => {
  const { world, recorded, nowMs } = ready
  const { idleStopMinutes } = world.spec
  if (idleStopMinutes === undefined) return undefined
  const keptAwakeBy = awakeReasonOf(ready)
  if (keptAwakeBy !== undefined) return { keptAwakeBy }
  const recordedMs = Date.parse(recorded?.idle?.since ?? '')
  const sinceMs = recordedMs <= nowMs ? recordedMs : nowMs
  return { since: toInstant(sinceMs), sleepsAt: toInstant(sinceMs + idleStopMinutes * 60_000) }
}

const awakeReasonOf = ({ queried, hasBots, run, recorded }: ReadyRun): AwakeReason | undefined => {
  // Until this process has an answer, the counts are those on record.
  const counts = queried === undefined ? recorded?.queue : queried.kind === 'answered' ? queried.queue : undefined
  if (counts !== undefined && counts.active > 0) return 'Players'
  if (counts !== undefined && counts.queued > 0) return 'WaitingPlayers'
  if (hasBots) return 'Bots'
  const isAsked = run.probes || run.query !== undefined
  const isUncertain = queried?.kind === 'unanswered' || queried?.isUncertain
  const wasUncertain = queried === undefined && recorded?.idle?.keptAwakeBy === 'UnknownCounts'
  return !isAsked || isUncertain || wasUncertain ? 'UnknownCounts' : undefined
}

/** Returns the sleep of a run that ended because nobody was in its world, until the world is stopped, started or deleted. */
export const idleOfEnded = ({ metadata, spec, status }: World, run: WorldRun): WorldIdle | undefined => {
  const { endedAt: asleepSince } = run
  const isOver = metadata.deletionTimestamp !== undefined || run.dismissed === true || (spec.runId ?? run.id) !== run.id
  if (run.endReason !== 'Idle' || asleepSince === undefined || isOver) return undefined
  const since = status?.idle?.since
  return { ...(since !== undefined && { since }), asleepSince }
}

/** Returns the condition Idle of a world that never sleeps because its counts are unknown. It has no other states. */
export const idleConditions = (ready: ReadyRun, idle: WorldIdle | undefined): ConditionState[] => {
  if (idle?.keptAwakeBy !== 'UnknownCounts') return []
  const before = ready.queried === undefined ? findCondition(ready.recorded ?? {}, conditionType)?.message : undefined
  const fact = 'The world does not sleep, because its server does not say its players.'
  const message = before ?? joinSentences(fact, causeOf(ready))
  return [{ type: conditionType, holds: 'Unknown', reason: 'UnknownCounts', message }]
}

/** Returns why the counts of a run are unknown, or what makes them known. */
const causeOf = ({ queried, run }: ReadyRun): string | undefined => {
  if (queried?.kind === 'answered') return queried.note
  if (run.query !== undefined) return queried?.why
  return run.probes
    ? 'Let GET /readyz answer {"active": n, "queued": n} as JSON, or set runtime.query for its next run.'
    : 'Restart the world: probes and runtime.query act from its next run.'
}

/** Returns the status without what it says about the sleep of a run under way, for a world that may be Ready no more or is not observed. */
export const withoutSleepClock = ({ idle, conditions, ...status }: WorldStatus): WorldStatus => ({
  ...status,
  ...withDefined({
    idle: idle?.asleepSince === undefined ? undefined : idle,
    conditions: conditions?.filter(({ type }) => type !== conditionType),
  }),
})

/** Reports whether the time of a world to sleep has come, by the clock alone. */
export const isSleepDue = ({ idle }: WorldStatus, nowMs: number): boolean => Date.parse(idle?.sleepsAt ?? '') <= nowMs

/** Returns the time until a world may sleep, or undefined if something keeps it awake or the time has come. */
export const sleepsInMs = ({ idle }: WorldStatus, nowMs: number): number | undefined => {
  const leftMs = Date.parse(idle?.sleepsAt ?? '') - nowMs
  return leftMs > 0 ? leftMs : undefined
}

/**
 * Returns the run with its end if nobody was in the world for idleStopMinutes, and undefined otherwise. The last poll must have said
 * so after that time, and just now, so that no player who came before it is missed. `planned` is the status of the run under way.
 */
export const endIdleRun = (
  { world, queried, answerAgeMs, nowMs }: PlanInput,
  planned: WorldStatus,
): WorldRun | undefined => {
  const { run } = planned
  const { idleStopMinutes } = world.spec
  if (run === undefined || idleStopMinutes === undefined || queried?.kind !== 'answered') return undefined
  if (answerAgeMs > maxAnswerAgeMs || !isSleepDue(planned, nowMs - answerAgeMs)) return undefined
  return endRun(run, 'Idle', `Nobody was in the world for ${countOf(idleStopMinutes, 'minute')}.`, nowMs)
}

/** Reports whether a bot deployment keeps its world awake: it wants bots, and its bots have not ended in that run. */
export const keepsAwake = ({ metadata, spec, status = {} }: BotDeployment, runId: string | undefined): boolean =>
  spec.count > 0 &&
  metadata.deletionTimestamp === undefined &&
  !(haveBotsEnded(status) && status.run !== undefined && status.run.id === runId)
