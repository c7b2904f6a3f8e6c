import { findCondition, isTrue } from '#operator/lifecycle/events.ts'
import { joinSentences } from '#operator/lifecycle/message.ts'
import { type Diagnosis, pendingDiagnosis } from '#operator/pods/diagnosis.ts'
import type { Pod } from '#operator/pods/pod.ts'
import { isReady } from '#operator/pods/podState.ts'
import { findHostPort, healthPort } from '#shared/domain/ports.ts'
import { awaitsAnswer, queryPort, type ServerQuery, transportOf } from '#shared/domain/query.ts'
import type { WorldQueue, WorldRun, WorldStatus } from '#shared/resources/world.ts'
import { checkQuery } from '#shared/why/remedies.ts'
import { waitingFor } from '#shared/why/wording.ts'
import { isSleepDue } from './idle.ts'
import { observeServer } from './observe.ts'
import type { PlanInput } from './step.ts'

/** A server that the operator asks for its players, and how. */
export type PolledServer = {
  readonly podUid: string
  readonly host: string
  /** The number of players with which the world is full. */
  readonly capacity: number
  readonly query: { readonly protocol: ServerQuery['protocol']; readonly port: number; readonly timeoutMs: number }
  /** The server is Ready once it has answered. */
  readonly isAwaited: boolean
  /** The queue that the world's status shows. Undefined if it shows none, so that any answer is news. */
  readonly recorded: WorldQueue | undefined
  /** The world sleeps if nobody is in it now, so the next answer is news. */
  readonly isDue: boolean
}

/** The query of a server whose kubelet probes it, if its run has none. */
const defaultQuery: ServerQuery = { protocol: 'Http', timeoutSeconds: 2 }

/**
 * Returns the server that the operator asks after a plan with that status, or undefined if it asks none. The server has an address. It is
 * Ready and has a query or probes, or it is Ready only once it has answered.
 */
export const findAskedServer = (input: PlanInput, status: WorldStatus): PolledServer | undefined => {
  const { run } = status
  if (run === undefined || run.id !== status.runId || run.endReason !== undefined) return undefined
  const server = observeServer(input, run.id)
  if (server.kind !== 'current') return undefined
  const { pod } = server
  const isAwaited = awaits(run, pod)
  const query = run.query ?? (run.probes ? defaultQuery : undefined)
  if (query === undefined || !(isAwaited || isTrue(status, 'Ready'))) return undefined
  const port = portOf(query, run, pod)
  const { podIP: host } = pod.status ?? {}
  const { uid: podUid } = pod.metadata
  if (port === undefined || host === undefined || podUid === undefined) return undefined
  const { protocol, timeoutSeconds } = query
  // Without a query, a first report of 0 and 0 is not written. A note about the counts may be outdated, so the next answer is news.
  // With a sleep, the first answer of this process is news, because only an answer ends a run.
  const hasNote = findCondition(status, 'Responding')?.reason === 'CountsCorrected'
  const queue = status.queue ?? (run.query === undefined ? { active: 0, queued: 0 } : undefined)
  const recorded = hasNote || status.idle !== undefined ? undefined : queue
  const asked = { protocol, port, timeoutMs: timeoutSeconds * 1_000 }
  return {
    podUid,
    host,
    capacity: run.capacity,
    query: asked,
    isAwaited,
    recorded,
    isDue: isSleepDue(status, input.nowMs),
  }
}

/** Returns the port that the server listens on for a query: with the policy Passthrough its host port. */
const portOf = (query: ServerQuery, run: WorldRun, pod: Pod): number | undefined => {
  const port = queryPort(query, run.ports)
  if (port === undefined || port === healthPort) return port
  const present = pod.spec?.containers?.flatMap(({ ports = [] }) => ports) ?? []
  return (port.policy === 'Passthrough' ? findHostPort(run.ports, port, present) : undefined) ?? port.containerPort
}

/** Reports whether a pod of the run is Ready for the kubelet alone: its server must still answer the operator once. */
export const awaits = (run: WorldRun, pod: Pod): boolean =>
  awaitsAnswer(run) && isReady(pod) && run.readyPodUid !== pod.metadata.uid

/** Returns the wait for an answer of a server, such as that for its first. */
export const waitForAnswer = (run: WorldRun, pod: Pod): string => {
  const { query = defaultQuery } = run
  return `${waitingFor('server')} answer ${query.protocol} at ${transportOf(query)} port ${portOf(query, run, pod)}.`
}

/**
 * Returns what an awaited server waits for, or undefined for any other. The message has advice if the server gives other answers, or if
 * its time `isOver`: until then a server that does not answer may only be slow.
 */
export const explainAnswerWait = (
  { queried }: PlanInput,
  run: WorldRun,
  pod: Pod,
  isOver = false,
): Diagnosis | undefined => {
  if (!awaits(run, pod)) return undefined
  const advice =
    queried?.kind === 'unanswered' && queried.reason === 'UnknownAnswer' ? queried.why : isOver ? checkQuery : undefined
  return pendingDiagnosis('Starting', joinSentences(waitForAnswer(run, pod), advice))
}
