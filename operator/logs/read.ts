import { KubeError } from '#shared/kube/errors.ts'
import type { Transport } from '#shared/kube/transport.ts'
import type { LogRefusal } from '#shared/logs/reasons.ts'
import { limitBytes, maxFollowMs, maxLogBytes } from '#shared/logs/reasons.ts'
import type { LogTicket } from '#shared/logs/ticket.ts'
import type { LogTarget } from './target.ts'

/** The limit for the first answer of a node. */
const openMs = 5_000
/** The limit for a log that is not followed: a slow reader holds a connection to the node for as long. */
const readMs = 60_000

/** A log cannot be read. The cause is the error of the API server, which is for the operator's own log only. */
export class LogError extends Error {
  override name = 'LogError'
  readonly reason: LogRefusal

  constructor(reason: LogRefusal, cause?: unknown) {
    super(reason, { cause })
    this.reason = reason
  }
}

/** The options of a read, as in a ticket. */
type LogOptions = Pick<LogTicket, 'follow' | 'sinceSeconds' | 'sinceTime' | 'tailLines'>

/** Returns the path of a pod's log. */
export const logPathOf = ({ pod: { metadata } }: LogTarget): string =>
  `/api/v1/namespaces/${encodeURIComponent(metadata.namespace ?? '')}/pods/${encodeURIComponent(metadata.name)}/log`

/** Returns the query of a pod's log (PodLogOptions of the API reference). */
const queryOf = ({ role }: LogTarget, options: LogOptions): Record<string, string | undefined> => ({
  container: role,
  follow: options.follow ? 'true' : undefined,
  sinceSeconds: options.sinceSeconds?.toString(),
  sinceTime: options.sinceTime,
  tailLines: options.tailLines?.toString(),
  limitBytes: options.follow ? undefined : String(maxLogBytes),
})

/**
 * Opens the log of a pod. Throws a `LogError` if the node cannot give it. The signal ends the stream.
 *
 * A node sends nothing, not even headers, before the first line of a log that is followed. So an empty read comes first: it
 * tells a silent server from a node that does not answer.
 */
export const openLog = async (
  transport: Pick<Transport, 'bytes'>,
  target: LogTarget,
  { options, signal }: { options: LogOptions; signal: AbortSignal },
): Promise<AsyncIterable<Buffer>> => {
  const path = logPathOf(target)
  const probe = { path, query: { container: target.role, tailLines: '0' }, signal, timeoutMs: openMs }
  try {
    for await (const _ of transport.bytes(probe)) break
  } catch (error) {
    throw new LogError(reasonOf(error), error)
  }
  const query = queryOf(target, options)
  return options.follow
    ? transport.bytes({ path, query, signal, timeoutMs: maxFollowMs })
    : limitBytes(transport.bytes({ path, query, signal, timeoutMs: readMs }), maxLogBytes)
}

/** The API server answers 400 for a container that has not started, and 404 for a pod that is gone. */
const reasonOf = (error: unknown): LogRefusal => {
  if (!(error instanceof KubeError)) return 'NodeUnreachable'
  if (error.status === 404) return 'NotFound'
  return error.status === 400 ? 'NotStarted' : 'NodeUnreachable'
}
