import { Problem } from '#api/platform/http/problem.ts'
import type { Clock } from '#shared/clock.ts'
import type { Log } from '#shared/log.ts'
import { maxLogBytes, maxTailBytes } from '#shared/logs/reasons.ts'
import type { Sample } from '#shared/logs/sample.ts'
import type { LogTicket } from '#shared/logs/ticket.ts'
import { commonFailures, createReplicas, type Failure, type LogSourceSettings } from './replicas.ts'
import { createSampleReader } from './samples.ts'

/** A log, or the reason for which the operator has none. */
export type OpenedLog = { readonly chunks: AsyncIterable<Buffer> } | { readonly refusal: 'NotFound' | 'NotStarted' }

/** The logs of the pods of one cluster, read through its operator. */
export type LogSource = {
  /**
   * Opens a log. The signal ends it. A tail has at most 64 KiB, and a log that is not followed at most 4 MiB. Throws a 501 if no
   * operator is configured, and a 503 if none answers or if the node of the pod does not answer.
   */
  open(ticket: LogTicket, signal: AbortSignal): Promise<OpenedLog>
  /**
   * Reads the newest sample of the CPU and memory of a pod. Returns undefined if there is none yet, or no such pod. Throws a 501 if the
   * cluster gives no samples, and a 503 if none can be read at the moment. Takes 20 s at most.
   */
  readSample(ticket: LogTicket): Promise<Sample | undefined>
  close(): Promise<void>
}

/** The reasons for which the operator may refuse a log. A later one says more than those before it. */
const refusals = ['NotFound', 'NotStarted', 'NodeUnreachable', 'Busy'] as const

/** The results of opening a log. */
export const logResults = ['Opened', ...commonFailures, ...refusals] as const
export type LogResult = (typeof logResults)[number]

type SourceOptions = {
  readonly clock: Clock
  readonly log: Log
  /** Called with the result of each log that is opened, unless its signal ended it. */
  readonly onResult?: (result: LogResult) => void
}

/** Creates the source of logs. Without settings every request is a 501. */
export const createLogSource = (settings: LogSourceSettings | undefined, options: SourceOptions): LogSource =>
  settings === undefined ? unconfigured : createConfiguredSource(settings, options)

const unconfigured: LogSource = {
  open: async () => {
    throw turnedOff('Logs are')
  },
  readSample: async () => {
    throw turnedOff('Metrics of servers come with the logs, which are')
  },
  close: async () => undefined,
}

const turnedOff = (what: string): Problem =>
  new Problem(
    'not_configured',
    `${what} turned off in this installation. The platform operator can set ORRERY_OPERATOR_URL and ORRERY_LOGS_KEY.`,
  )

const createConfiguredSource = (
  settings: LogSourceSettings,
  { clock, log, onResult = () => undefined }: SourceOptions,
): LogSource => {
  const replicas = createReplicas(settings, { clock, log })
  return {
    open: async (ticket, signal) => {
      const answer = await replicas.ask(ticket, { refusals, maxBytes: maxBytesOf(ticket), signal })
      if ('chunks' in answer) {
        onResult('Opened')
        return answer
      }
      const { failure } = answer
      if (!signal.aborted) onResult(failure)
      if (failure === 'NotFound' || failure === 'NotStarted') return { refusal: failure }
      throw unavailable(failure)
    },
    readSample: createSampleReader(replicas, clock),
    close: replicas.close,
  }
}

/** Returns the maximum size of a log. One that is followed is limited by its rate and its duration. */
const maxBytesOf = ({ source, follow }: LogTicket): number =>
  source === 'tail' ? maxTailBytes : follow ? Number.POSITIVE_INFINITY : maxLogBytes

const unavailable = (failure: Failure<'NodeUnreachable' | 'Busy'>): Problem => {
  const retry = (seconds: number) => ({ headers: { 'retry-after': String(seconds) } })
  if (failure === 'NodeUnreachable') {
    const detail =
      'The node of the server does not answer, so its log cannot be read. Retry after the time in Retry-After.'
    return new Problem('unavailable', detail, retry(10))
  }
  if (failure === 'Busy') {
    return new Problem(
      'unavailable',
      'Too many logs are read at the moment. Retry after the time in Retry-After.',
      retry(5),
    )
  }
  if (failure === 'NotTrusted') {
    // The reason is in the log of the API, since it is not for tenants.
    const detail =
      'The API does not trust the certificate of the operator, so no log can be read. Ask the platform operator.'
    return new Problem('unavailable', detail, retry(60))
  }
  const detail =
    'The operator of the cluster does not answer, so no log can be read. Retry after the time in Retry-After.'
  return new Problem('unavailable', detail, retry(5))
}
