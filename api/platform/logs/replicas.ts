import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { Dispatcher } from 'undici'
import type { Clock } from '#shared/clock.ts'
import { createPool } from '#shared/kube/agents.ts'
import { readText } from '#shared/kube/body.ts'
import { createCredentials } from '#shared/kube/credentials.ts'
import type { Log } from '#shared/log.ts'
import { limitBytes, logPath } from '#shared/logs/reasons.ts'
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

/** The failures of any request to the operator. A later one says more than those before it. */
export const commonFailures = ['NoAnswer', 'NotTrusted', 'TicketRefused'] as const
type CommonFailure = (typeof commonFailures)[number]

/** The reason for which there is no answer to a ticket. */
export type Failure<Refusal extends string> = CommonFailure | Refusal

/** The answer to a ticket: its bytes, or why there are none. */
type Answer<Refusal extends string> =
  | { readonly chunks: AsyncIterable<Buffer> }
  | { readonly failure: Failure<Refusal> }

/** The answers that a caller takes. */
type Wanted<Refusal extends string> = {
  /** The reasons that the operator may give. A later one says more than those before it. */
  readonly refusals: readonly Refusal[]
  readonly maxBytes: number
  /** Ends the request and the answer. */
  readonly signal: AbortSignal
}

/** The replicas of the operator of one cluster. */
export type Replicas = {
  /** Gives the ticket to one replica after the other until one accepts it. Never rejects. */
  ask<Refusal extends string>(ticket: LogTicket, wanted: Wanted<Refusal>): Promise<Answer<Refusal>>
  close(): Promise<void>
}

/** The limit for the operator's answer. It tries the node for 5 s. */
const answerMs = 8_000
/** The most replicas of the operator that are tried. */
const maxReplicas = 5
const maxConnections = 128
const maxRefusalBytes = 1_024

/** Connects to the replicas of an operator. */
export const createReplicas = (
  { url, caFile, key, audience }: LogSourceSettings,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
): Replicas => {
  const { hostname, port, protocol } = new URL(url)
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  // Requests name an address, so the name in the certificate must be given.
  const servername = isIP(host) === 0 ? host : undefined
  const ca = caFile === undefined ? undefined : { file: caFile }
  const pool = createPool(createCredentials(withDefined({ server: url, ca, servername })), maxConnections)
  const send = async (origin: string, token: string, signal: AbortSignal): Promise<Dispatcher.ResponseData> =>
    (await pool.agent()).request({
      origin,
      path: logPath,
      method: 'GET',
      signal,
      headers: { authorization: `Bearer ${token}`, host: new URL(url).host },
    })
  const reportFailure = (origin: string, error: unknown): CommonFailure => {
    const why = explainDistrust(error, { host, caFile })
    if (why === undefined) log.warn({ origin, err: error }, 'the operator does not answer a request')
    else log.error({ origin, why }, "the operator's log server is not trusted")
    return why === undefined ? 'NoAnswer' : 'NotTrusted'
  }
  const tryReplica = async <Refusal extends string>(
    address: string,
    { token, source, refusals, maxBytes, signal }: Wanted<Refusal> & Pick<LogTicket, 'source'> & { token: string },
  ): Promise<Answer<Refusal>> => {
    const origin = `${protocol}//${isIP(address) === 6 ? `[${address}]` : address}${port && `:${port}`}`
    return within({ clock, timeoutMs: answerMs, signal }, async (limit): Promise<Answer<Refusal>> => {
      // The answer itself is under the caller's signal alone.
      const answer = await send(origin, token, AbortSignal.any([signal, limit]))
      if (answer.statusCode === 200) return { chunks: limitBytes(answer.body, maxBytes) }
      const text = await readText(answer.body, maxRefusalBytes).catch(() => '')
      const reason = refusals.find((each) => text.includes(`"${each}"`))
      // An operator of an earlier version gives no samples.
      const level = source === 'metrics' ? 'warn' : 'error'
      if (reason === undefined)
        log[level]({ origin, status: answer.statusCode, source }, 'the operator refused a ticket')
      return { failure: reason ?? 'TicketRefused' }
    }).catch((error: unknown) => ({ failure: signal.aborted ? 'NoAnswer' : reportFailure(origin, error) }))
  }
  return {
    ask: async <Refusal extends string>(ticket: LogTicket, wanted: Wanted<Refusal>): Promise<Answer<Refusal>> => {
      const token = await signTicket(ticket, { key, audience, nowMs: clock.now() })
      const order: readonly string[] = [...commonFailures, ...wanted.refusals]
      let failure: Failure<Refusal> = 'NoAnswer'
      for (const address of await addressesOf(host, log)) {
        const answer = await tryReplica(address, { ...wanted, token, source: ticket.source })
        if ('chunks' in answer) return answer
        // Only one replica has a kept tail, and the cache of another may be ahead.
        if (order.indexOf(answer.failure) > order.indexOf(failure)) failure = answer.failure
      }
      return { failure }
    },
    close: () => pool.destroy(),
  }
}

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
