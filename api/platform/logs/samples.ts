import { createShares } from '#api/platform/fairness/shares.ts'
import { Problem, type ProblemCode } from '#api/platform/http/problem.ts'
import type { Clock } from '#shared/clock.ts'
import { readText } from '#shared/kube/body.ts'
import { maxSampleBytes, type Sample, type SampleRefusal, sample } from '#shared/logs/sample.ts'
import type { LogTicket } from '#shared/logs/ticket.ts'
import { DeadlineError, within } from '#shared/peers.ts'
import type { Failure, Replicas } from './replicas.ts'

/** The limit for a sample, over all replicas of the operator. */
const readMs = 20_000

/** The reasons for which the operator may refuse a sample. A later one says more than those before it. */
const refusals = [
  'NotFound',
  'NoSample',
  'SampleUnreadable',
  'MetricsDown',
  'MetricsNotAllowed',
  'MetricsNotInstalled',
  'Busy',
] as const satisfies readonly (SampleRefusal | 'NotFound' | 'Busy')[]

/** The reads of all organizations together, each of which can wait for as long as `readMs`. */
const readShare = { maxConcurrent: 16, maxWaiting: 0, maxWaitMs: 0 }

/** Returns a function that reads samples as `LogSource.readSample`. Each organization has its share of 16 reads at the same time. */
export const createSampleReader = (replicas: Replicas, clock: Clock) => {
  const run = createShares(clock, readShare)
  return (ticket: LogTicket): Promise<Sample | undefined> =>
    run(
      ticket.namespace,
      () => readSample(replicas, ticket, clock),
      () => problemOf('Busy'),
    )
}

/**
 * Reads the newest sample of the pod of a ticket. Returns undefined if there is none yet, or no such pod. Throws a 501 if the cluster
 * gives no samples, and a 503 if none can be read at the moment.
 */
const readSample = (replicas: Replicas, ticket: LogTicket, clock: Clock): Promise<Sample | undefined> =>
  within({ clock, timeoutMs: readMs }, async (signal) => {
    const answer = await replicas.ask(ticket, { refusals, maxBytes: maxSampleBytes, signal })
    if ('chunks' in answer) return sample.parse(JSON.parse(await readText(answer.chunks, maxSampleBytes)))
    const { failure } = answer
    if (failure === 'NotFound' || failure === 'NoSample') return undefined
    throw problemOf(failure)
  }).catch((error: unknown) => {
    if (error instanceof Problem) throw error
    throw problemOf(error instanceof DeadlineError ? 'NoAnswer' : 'SampleUnreadable', error)
  })

type SampleFailure = Exclude<Failure<(typeof refusals)[number]>, 'NotFound' | 'NoSample'>

/** The code of the problem, what to say, and the seconds after which to retry. */
const problems: Readonly<Record<SampleFailure, readonly [ProblemCode, string, number?]>> = {
  NoAnswer: ['unavailable', 'The operator of the cluster does not answer, so no metrics can be read.', 15],
  NotTrusted: [
    'unavailable',
    'The API does not trust the certificate of the operator, so no metrics can be read. Ask the platform operator.',
    60,
  ],
  TicketRefused: [
    'unavailable',
    'The operator of the cluster does not accept requests for metrics: it has an earlier version than the API, or another key. The platform operator can update it.',
    60,
  ],
  SampleUnreadable: ['unavailable', 'The metrics API of the cluster gave no usable answer.', 15],
  Busy: ['unavailable', 'Too many metrics are read at the moment.', 5],
  MetricsDown: [
    'unavailable',
    'The metrics API of the cluster does not answer. The platform operator can see why with kubectl get apiservice v1beta1.metrics.k8s.io.',
    15,
  ],
  MetricsNotAllowed: [
    'not_configured',
    'The operator may not read the metrics of this namespace. The platform operator can grant it get on pods.metrics.k8s.io, with the ClusterRole orrery-operator-tenant of this version.',
  ],
  MetricsNotInstalled: [
    'not_configured',
    'The cluster has no metrics API (metrics.k8s.io). The platform operator can install metrics-server.',
  ],
}

const problemOf = (failure: SampleFailure, cause?: unknown): Problem => {
  const [code, detail, retrySeconds] = problems[failure]
  if (retrySeconds === undefined) return new Problem(code, detail)
  const headers = { 'retry-after': String(retrySeconds) }
  return new Problem(code, `${detail} Retry after the time in Retry-After.`, { headers, cause })
}
