import { createServer, type Server as HttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Clock } from '#shared/clock.ts'
import { KubeError } from '#shared/kube/errors.ts'
import type { Transport } from '#shared/kube/transport.ts'
import type { Log } from '#shared/log.ts'
import { type LogRefusal, logRefusals } from '#shared/logs/reasons.ts'
import { type SampleRefusal, sampleRefusals } from '#shared/logs/sample.ts'
import { type LogTicket, verifyTicket } from '#shared/logs/ticket.ts'
import { listen } from '#shared/operations.ts'
import { readTls, reloadTls, type TlsFiles } from '#shared/tls.ts'
import { LogError, openLog } from './read.ts'
import { createSamples, type Samples } from './samples.ts'
import { findLogTarget, type LogTarget, type PodCaches } from './target.ts'

/** The settings of the log server. */
export type LogSettings = {
  readonly port: number
  /** The address to listen on; every address without one. */
  readonly address: string | undefined
  /** Undefined serves plain HTTP. */
  readonly tls: TlsFiles | undefined
  /** The keys that tickets may be signed with. */
  readonly keys: readonly string[]
  readonly audience: string
}

/** The dependencies of the log server. */
export type LogServerOptions = {
  readonly settings: LogSettings
  /** A transport of its own: logs that are followed must not delay the watches of the caches. */
  readonly transport: Pick<Transport, 'bytes' | 'request'>
  readonly pods: PodCaches
  /** Returns the tail that was kept of a pod. */
  readonly tailOf: (podUid: string) => Buffer | undefined
  readonly clock: Clock
  readonly log: Log
}

/** The maximum number of logs that are given at the same time. */
const maxStreams = 60
const maxConnections = 256

/**
 * Serves the logs of pods, and samples of their CPU and memory, to the API. A request carries a ticket of the API as its bearer token;
 * path, query and body are ignored. Every request without a valid ticket gets an empty 401.
 */
export const serveLogs = async (options: LogServerOptions): Promise<{ port: number; close(): Promise<void> }> => {
  const { settings, clock, log } = options
  const samples = createSamples(options)
  let streams = 0
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { keys, audience } = settings
    const ticket = await verifyTicket(bearerOf(request), { keys, audience, nowMs: clock.now() })
    if (ticket === undefined) return void response.writeHead(401, { 'content-length': 0 }).end()
    // Samples have their own limits.
    if (ticket.source === 'metrics') return giveSample(samples, findLogTarget(ticket, options.pods), response)
    if (streams >= maxStreams) return refuse(response, 'Busy')
    streams += 1
    try {
      await answer(options, ticket, response)
    } finally {
      streams -= 1
    }
  }
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    request.resume()
    handle(request, response).catch((error: unknown) => {
      log.warn({ err: error }, 'a log could not be sent')
      response.destroy()
    })
  }
  const tls = settings.tls && (await readTls(settings.tls))
  const server = openServer(tls, listener)
  server.maxConnections = maxConnections
  await listen(server, settings.port, settings.address)
  const endReload =
    tls && settings.tls && 'setSecureContext' in server
      ? reloadTls(server, { files: settings.tls, present: tls, clock, log })
      : undefined
  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise((resolve) => {
        endReload?.()
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

const requestLimits = { headersTimeout: 5_000, requestTimeout: 10_000, maxHeaderSize: 8 * 1024 }

const openServer = (
  tls: { cert: string; key: string } | undefined,
  listener: (request: IncomingMessage, response: ServerResponse) => void,
): HttpServer | HttpsServer =>
  tls === undefined ? createServer(requestLimits, listener) : createHttpsServer({ ...requestLimits, ...tls }, listener)

const bearerOf = ({ headers }: IncomingMessage): string => /^Bearer (\S+)$/.exec(headers.authorization ?? '')?.[1] ?? ''

const statuses = { ...logRefusals, ...sampleRefusals }

const sendJson = (response: ServerResponse, status: number, body: object): void =>
  void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))

const refuse = (response: ServerResponse, reason: LogRefusal | SampleRefusal): void =>
  sendJson(response, statuses[reason], { reason })

const giveSample = async (samples: Samples, target: LogTarget | undefined, response: ServerResponse): Promise<void> => {
  if (target === undefined) return refuse(response, 'NotFound')
  const answer = await samples.read(target)
  return 'sample' in answer ? sendJson(response, 200, answer.sample) : refuse(response, answer.refusal)
}

const bytes = { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' }

/** Answers a request with a valid ticket. A reader that goes away ends the stream from the node at once. */
const answer = async (options: LogServerOptions, ticket: LogTicket, response: ServerResponse): Promise<void> => {
  const { transport, pods, tailOf, log } = options
  if (ticket.source === 'tail') {
    const tail = tailOf(ticket.podUid ?? '')
    return tail === undefined ? refuse(response, 'NotFound') : void response.writeHead(200, bytes).end(tail)
  }
  const target = findLogTarget(ticket, pods)
  if (target === undefined) return refuse(response, 'NotFound')
  const reading = new AbortController()
  response.once('close', () => reading.abort())
  try {
    const chunks = await openLog(transport, target, { options: ticket, signal: reading.signal })
    response.writeHead(200, bytes)
    response.flushHeaders()
    await pipeline(Readable.from(chunks, { objectMode: false }), response)
  } catch (error) {
    if (reading.signal.aborted) return
    const { namespace, name } = target.pod.metadata
    log.warn({ pod: `${namespace}/${name}`, why: messageOf(error) }, 'a log could not be read')
    if (!response.headersSent && error instanceof LogError) return refuse(response, error.reason)
    response.destroy()
  }
}

const messageOf = (error: unknown): string => {
  const cause = error instanceof LogError ? error.cause : error
  return cause instanceof KubeError || cause instanceof Error ? cause.message : String(cause)
}
