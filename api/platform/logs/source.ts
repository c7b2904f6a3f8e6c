import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { Dispatcher } from 'undici'
import { Problem } from '#api/platform/http/problem.ts'
import type { Clock } from '#shared/clock.ts'
import { createPool } from '#shared/kube/agents.ts'
import { readText } from '#shared/kube/body.ts'
import { createCredentials } from '#shared/kube/credentials.ts'
import type { Log } from '#shared/log.ts'
import { type LogRefusal, limitBytes, logPath, logRefusals, maxLogBytes, maxTailBytes } from '#shared/logs/reasons.ts'
import { type LogTicket, signTicket } from '#shared/logs/ticket.ts'
import { withDefined } from '#shared/optional.ts'
import { within } from '#shared/peers.ts'
import { explainDistrust } from './trust.ts'

/** The operator's log server, and the key of its tickets. */
export type LogSourceSettings = {
  readonly url: string
  /** The PEM file of the authority of its certificate; undefined trusts the authorities of the system. */
  readonly caFile: string | undefined
  readonly key: string
  readonly audience: string
}

/** A log, or the reason for which the operator has none. */
export type OpenedLog = { readonly chunks: AsyncIterable<Buffer> } | { readonly refusal: 'NotFound' | 'NotStarted' }

/** The logs of the pods of one cluster, read through its operator. */
export type LogSource = {
  /**
   * Opens a log. The signal ends it. A tail has at most 64 KiB, and a log that is not followed at most 4 MiB. Throws a 501 if no
   * operator is configured, and a 503 if none answers or if the node of the pod does not answer.
   */
  open(ticket: LogTicket, signal: AbortSignal): Promise<OpenedLog>
  close(): Promise<void>
}

/** The failures of opening a log. A later one says more than those before it. */
const logFailures = [
  'NoAnswer',
  'NotTrusted',
  'TicketRefused',
  'NotFound',
  'NotStarted',
  'NodeUnreachable',
  'Busy',
] as const
type LogFailure = (typeof logFailures)[number]

/** The results of opening a log. */
export const logResults = ['Opened', ...logFailures] as const
export type LogResult = (typeof logResults)[number]

/** The answer of one replica of the operator. */
type Tried = { readonly chunks: AsyncIterable<Buffer> } | { readonly failure: LogFailure }

type SourceOptions = {
  readonly clock: Clock
  readonly log: Log
  /** Called with the result of each log that is opened, unless its signal ended it. */
  readonly onResult?: (result: LogResult) => void
}

/** The limit for the operator's answer. It tries the node for 5 s. */
const answerMs = 8_000
/** The most replicas of the operator that are tried. */
const maxReplicas = 5
const maxConnections = 128
const maxRefusalBytes = 1_024

/** Creates the source of logs. Without settings every request is a 501. */
export const createLogSource = (settings: LogSourceSettings | undefined, options: SourceOptions): LogSource =>
  settings === undefined ? unconfigured : createConfiguredSource(settings, options)

const unconfigured: LogSource = {
  open: async () => {
    throw new Problem(
      'not_configured',
      'Logs are turned off in this installation. The platform operator can set ORRERY_OPERATOR_URL and ORRERY_LOGS_KEY.',
    )
  },
  close: async () => undefined,
}

const createConfiguredSource = (
  { url, caFile, key, audience }: LogSourceSettings,
  { clock, log, onResult = () => undefined }: SourceOptions,
): LogSource => {
  const { hostname, port, protocol } = new URL(url)
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  // Requests name an address, so the name in the certificate must be given.
  const servername = isIP(host) === 0 ? host : undefined
  const ca = caFile === undefined ? undefined : { file: caFile }
  const pool = createPool(createCredentials(withDefined({ server: url, ca, servername })), maxConnections)
  const ask = async (origin: string, token: string, signal: AbortSignal): Promise<Dispatcher.ResponseData> =>
    (await pool.agent()).request({
      origin,
      path: logPath,
      method: 'GET',
      signal,
      headers: { authorization: `Bearer ${token}`, host: new URL(url).host },
    })
  const reportFailure = (origin: string, error: unknown): LogFailure => {
    const why = explainDistrust(error, { host, caFile })
    if (why === undefined) log.warn({ origin, err: error }, 'the operator does not answer a request for a log')
    else log.error({ origin, why }, "the operator's log server is not trusted")
    return why === undefined ? 'NoAnswer' : 'NotTrusted'
  }
  const tryReplica = async (address: string, token: string, maxBytes: number, signal: AbortSignal): Promise<Tried> => {
    const origin = `${protocol}//${isIP(address) === 6 ? `[${address}]` : address}${port && `:${port}`}`
    return within({ clock, timeoutMs: answerMs, signal }, async (limit): Promise<Tried> => {
      // The log itself is under the caller's signal alone.
      const answer = await ask(origin, token, AbortSignal.any([signal, limit]))
      if (answer.statusCode === 200) return { chunks: limitBytes(answer.body, maxBytes) }
      const reason = await readRefusal(answer)
      if (reason === undefined)
        log.error({ origin, status: answer.statusCode }, 'the operator refused a ticket for a log')
      return { failure: reason ?? 'TicketRefused' }
    }).catch((error: unknown) => ({ failure: signal.aborted ? 'NoAnswer' : reportFailure(origin, error) }))
  }
  return {
    open: async (ticket, signal) => {
      const token = await signTicket(ticket, { key, audience, nowMs: clock.now() })
      let failure: LogFailure = 'NoAnswer'
      for (const address of await addressesOf(host, log)) {
        const tried = await tryReplica(address, token, maxBytesOf(ticket), signal)
        if ('chunks' in tried) {
          onResult('Opened')
          return tried
        }
        // Only one replica has the kept tail, and the cache of another may be ahead.
        failure = moreSpecific(failure, tried.failure)
      }
      if (!signal.aborted) onResult(failure)
      if (failure === 'NotFound' || failure === 'NotStarted') return { refusal: failure }
      throw unavailable(failure)
    },
    close: () => pool.destroy(),
  }
}

/** Returns the maximum size of a log. One that is followed is limited by its rate and its duration. */
const maxBytesOf = ({ source, follow }: LogTicket): number =>
  source === 'tail' ? maxTailBytes : follow ? Number.POSITIVE_INFINITY : maxLogBytes

/** Returns the addresses of the operator's replicas: those of a headless Service, or one. */
const addressesOf = async (host: string, log: Log): Promise<string[]> => {
  if (isIP(host) !== 0) return [host]
  try {
    return (await lookup(host, { all: true })).slice(0, maxReplicas).map(({ address }) => address)
  } catch (error) {
    log.warn({ host, err: error }, 'the name of the operator cannot be resolved')
    return []
  }
}

/** Returns the reason of a refusal; undefined if there is none, as with a ticket that is not accepted. */
const readRefusal = async ({ body }: Dispatcher.ResponseData): Promise<LogRefusal | undefined> => {
  const text = await readText(body, maxRefusalBytes).catch(() => '')
  return (Object.keys(logRefusals) as LogRefusal[]).find((reason) => text.includes(`"${reason}"`))
}

/** Returns the more specific failure. */
const moreSpecific = (a: LogFailure, b: LogFailure): LogFailure =>
  logFailures.indexOf(a) >= logFailures.indexOf(b) ? a : b

const unavailable = (failure: LogFailure): Problem => {
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
