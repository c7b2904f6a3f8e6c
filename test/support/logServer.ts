import { openPki } from '#dev/kubernetes/pki.ts'
import { serveLogs } from '#operator/logs/server.ts'
import type { Pod } from '#operator/pods/pod.ts'
import { systemClock } from '#shared/clock.ts'
import { KubeError } from '#shared/kube/errors.ts'
import type { Transport } from '#shared/kube/transport.ts'
import { createLog } from '#shared/log.ts'
import { logAudience } from '#shared/logs/ticket.ts'
import { rootApiKey } from './processes.ts'

const withoutMetrics: Transport['request'] = () =>
  Promise.reject(new KubeError({ message: '404 page not found', status: 404 }))

/**
 * Starts the log server of an operator, whose nodes send one line and stay silent. Its certificate has one name, and is signed
 * by the authority in `pkiDir`.
 */
export const startLogServer = async ({
  pkiDir,
  host = 'localhost',
  cluster = 'default',
  key,
  line = 'hello',
  servers,
}: {
  readonly pkiDir: string
  readonly host?: string
  readonly cluster?: string
  readonly key: string
  readonly line?: string
  /** The pods of the servers, by `namespace/name` of their World. */
  readonly servers: Map<string, Pod>
}) => {
  const pki = await openPki(pkiDir, Date.now())
  return serveLogs({
    settings: {
      port: 0,
      address: '127.0.0.1',
      keys: [key],
      audience: logAudience(cluster),
      // Servers of several clusters may start at the same time, and each writes its files.
      tls: await pki.server(`${cluster}-${host}`, [host]),
    },
    transport: {
      request: withoutMetrics,
      bytes: async function* ({ query, signal }) {
        if (query.tailLines === '0') return
        yield Buffer.from(`${line}\n`)
        if (query.follow === undefined) return
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))))
      },
    },
    pods: { servers, bots: new Map() },
    tailOf: () => undefined,
    clock: systemClock,
    log: createLog({ name: 'test', level: 'silent' }),
  })
}

/** Requests the log of a world, with the platform key unless another credential is given. */
export const requestLog = (
  url: string,
  { scope, world, query = '', credential = { 'x-api-key': rootApiKey }, accept = 'text/plain' }: LogRequest,
): Promise<Response> => {
  const of = { 'x-svc-organization-id': scope.organizationId, 'x-svc-project-id': scope.projectId }
  return fetch(`${url}/api/worlds/${world}/logs/${query}`, { headers: { ...of, ...credential, accept } })
}

type LogRequest = {
  readonly scope: { readonly organizationId: string; readonly projectId: string }
  readonly world: string
  readonly query?: string
  readonly credential?: Record<string, string>
  readonly accept?: string
}

/** Follows the log of a world and waits for its first part. `ends` returns the rest, once the log has ended. */
export const followLog = async (url: string, request: LogRequest) => {
  const answer = await requestLog(url, { ...request, query: '?follow', accept: 'text/event-stream' })
  if (answer.status !== 200) throw new Error(`The log cannot be followed: ${answer.status} ${await answer.text()}`)
  const reader = (answer.body ?? new ReadableStream()).pipeThrough(new TextDecoderStream()).getReader()
  const { value: first = '' } = await reader.read()
  const ends = async (): Promise<string> => {
    let text = ''
    for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value
    return text
  }
  return { first, ends }
}
