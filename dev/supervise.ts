import { type Clock, sleep } from '#shared/clock.ts'
import type { Service } from './process.ts'
import type { Progress } from './progress.ts'

/** The most restarts of one service within a minute. */
const maxRestarts = 5
const windowMs = 60_000
const firstBackoffMs = 250

/** A service that is restarted when it ends by itself. */
export type Supervised = {
  readonly name: string
  /** Resolves with a sentence once the restarts of a minute are used up. Never resolves after `stop`. */
  readonly gaveUp: Promise<string>
  /** Ends the service for good, also while it is being restarted. */
  stop(): Promise<void>
}

/**
 * Starts a service and restarts it whenever it ends by itself, with a backoff that doubles, at most 5 times a minute. The
 * first start is not repeated: its error is thrown. A restart that does not become ready counts like any other end.
 */
export const supervise = async (
  start: () => Promise<Service>,
  { clock, progress }: { clock: Clock; progress: Progress },
): Promise<Supervised> => {
  const stopping = new AbortController()
  const gaveUp = Promise.withResolvers<string>()
  const restartsAtMs: number[] = []
  let service = await start()
  const { name } = service

  const untilEnd = async (): Promise<string> => {
    // The service started while `stop` was called.
    if (stopping.signal.aborted) await service.stop()
    return describeExit(await service.exited)
  }
  const restart = async (): Promise<string> => {
    try {
      service = await start()
      return await untilEnd()
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  }
  const watch = async (): Promise<void> => {
    for (let reason = await untilEnd(); !stopping.signal.aborted; reason = await restart()) {
      const nowMs = clock.monotonic()
      while ((restartsAtMs[0] ?? nowMs) <= nowMs - windowMs) restartsAtMs.shift()
      if (restartsAtMs.length >= maxRestarts) {
        return gaveUp.resolve(`The ${name} ended ${maxRestarts + 1} times within a minute. Last reason: ${reason}`)
      }
      const backoffMs = firstBackoffMs * 2 ** restartsAtMs.length
      restartsAtMs.push(nowMs)
      progress(`the ${name} ended: ${reason}; restart ${restartsAtMs.length} of ${maxRestarts} in ${backoffMs} ms`)
      await sleep(clock, backoffMs, stopping.signal)
      if (stopping.signal.aborted) return
    }
  }
  const watching = watch()
  return {
    name,
    gaveUp: gaveUp.promise,
    stop: async () => {
      stopping.abort()
      await service.stop()
      await watching
    },
  }
}

const describeExit = ({ code, signal }: Awaited<Service['exited']>): string =>
  signal === null ? `exit code ${code ?? 'unknown'}` : `signal ${signal}`
