import { type Clock, sleep } from '#shared/clock.ts'
import { withDefined } from '#shared/optional.ts'
import type { Client } from './client.ts'
import { isAlreadyExists, isConflict, isNotFound } from './errors.ts'
import type { Fence } from './fence.ts'
import {
  buildLeaseClaim,
  buildLeaseRelease,
  type Lease,
  leaseWaitMs,
  type ObservedLease,
  observeLease,
} from './lease.ts'
import { type KubeLog, withFields } from './log.ts'
import type { KubeMetrics } from './metrics.ts'
import { type ObjectRef, objectKey } from './objects.ts'
import { createReflector } from './reflector.ts'
import { isOlder } from './versions.ts'

/**
 * The timing of a lease in milliseconds. Each value must be shorter than the one before it. The leader renews the lease when two
 * fifths of the deadline have passed.
 */
type LeaseTiming = {
  /** Time without a renewal after which others may take the lease. */
  readonly durationMs: number
  /** Time for which a leader may write after the start of its last successful renewal. */
  readonly renewDeadlineMs: number
  /** Interval of the others' checks, and of the leader's tries after a renewal that failed. */
  readonly retryMs: number
}

/** The timing of client-go, which however renews every 2 s. */
export const defaultLeaseTiming: LeaseTiming = { durationMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 }

/** The lease was lost, and with it the right to write. The process must exit, since its state may be outdated. */
export class LeaseLostError extends Error {
  override name = 'LeaseLostError'
}

/** An election of one leader among the processes that use the same lease. */
export type Election = {
  /**
   * Waits for the lease, then runs `lead` and renews the lease until `lead` ends. Releases the lease then, so that a
   * standby takes over at once. The signal ends the waiting and is passed on to `lead`. Rejects with a `LeaseLostError`
   * as soon as the lease is lost; `lead` is aborted but not awaited. Call it once.
   */
  run(signal: AbortSignal, lead: (signal: AbortSignal) => Promise<void>): Promise<void>
  /** Allows writes only while the lease is certainly held, by this machine's monotonic time. */
  readonly fence: Fence
  /** Returns false for a leader that has not renewed for longer than `durationMs`: it should have exited. */
  alive(): boolean
}

type Options = {
  /** Must have its own transport, so that no queue delays a renewal, without the fence. */
  client: Client<Lease>
  ref: ObjectRef
  /**
   * Identity of this process, unique at any time. A process that finds its own identity in the lease takes it at once, so
   * an identity that survives a restart, such as the uid of a pod, avoids the wait.
   */
  identity: string
  timing?: LeaseTiming
  clock: Clock
  random: () => number
  log: KubeLog
  metrics?: KubeMetrics
}

/** Creates an election by a Lease, with the rules of client-go's leaderelection. */
export const createElection = (options: Options): Election => {
  const { clock, random, ref, identity, timing = defaultLeaseTiming } = options
  if (!(timing.durationMs > timing.renewDeadlineMs && timing.renewDeadlineMs > timing.retryMs)) {
    throw new RangeError(
      'a lease must last longer than its renew deadline, and that longer than the time between tries',
    )
  }
  const name = objectKey(ref)
  const log = withFields(options.log, { lease: name, identity })
  const metrics = options.metrics?.election(ref.name)
  const closed = new AbortController()
  const hold = createHold({ ...options, timing })
  const lost = (why: string): LeaseLostError => {
    closed.abort()
    return new LeaseLostError(`The lease ${name} was lost: ${why}. This process stops writing and must be restarted.`)
  }
  /** Aborted when the lease became free or, for the leader, was lost: the next check is due at once. */
  let wake = new AbortController()
  const pause = async (delayMs: number, signal: AbortSignal): Promise<void> => {
    wake = new AbortController()
    await sleep(clock, delayMs, AbortSignal.any([signal, wake.signal]))
  }
  /** Waits for the lease. Returns false if the signal aborts first. */
  const acquire = async (signal: AbortSignal): Promise<boolean> => {
    while (!signal.aborted) {
      const isAcquired = await hold.tryAcquire(timing.renewDeadlineMs / 2).catch((error: unknown) => {
        log.warn({ err: error }, 'lease: acquiring failed, will retry')
        return false
      })
      if (isAcquired) return true
      const againMs = timing.retryMs * (1 + random() / 5)
      const freeInMs = hold.othersMs()
      await pause(freeInMs > 0 ? Math.min(freeInMs, againMs) : againMs, signal)
    }
    return false
  }
  /** Renews until the signal aborts. Throws when the lease is lost. */
  const keep = async (signal: AbortSignal): Promise<void> => {
    // Two fifths leave time for more tries before the deadline.
    const renewMs = Math.max(timing.retryMs, (timing.renewDeadlineMs * 2) / 5)
    let nextMs = clock.monotonic() + renewMs
    for (;;) {
      await pause(Math.max(0, Math.min(nextMs - clock.monotonic(), hold.leftMs())), signal)
      if (signal.aborted) return
      const leftMs = hold.leftMs()
      if (leftMs <= 0) throw lost(`it was not renewed for ${timing.renewDeadlineMs} ms`)
      const startedMs = clock.monotonic()
      try {
        const taker = await hold.renew(Math.min(leftMs, timing.renewDeadlineMs / 2))
        if (taker !== undefined) throw lost(taker)
        nextMs = startedMs + renewMs
      } catch (error) {
        if (error instanceof LeaseLostError) throw error
        log.warn({ err: error }, 'lease: renewal failed, will retry')
        nextMs = startedMs + timing.retryMs
      }
    }
  }
  return {
    fence: {
      closed: closed.signal,
      refusal: () => {
        if (closed.signal.aborted) return `the lease ${name} is lost`
        return hold.leftMs() > 0 ? undefined : `the lease ${name} is not held`
      },
    },
    alive: () => !hold.holding() || hold.leftMs() > timing.renewDeadlineMs - timing.durationMs,
    run: async (signal, lead) => {
      metrics?.setLeading(false)
      const watchEnd = new AbortController()
      const watching = watchLease(options, watchEnd.signal, (lease) => {
        const holder = lease?.spec?.holderIdentity ?? ''
        if (hold.holding() ? holder !== identity : holder === '') wake.abort()
        else if (lease !== undefined) hold.observe(lease)
      })
      try {
        if (!(await acquire(signal))) return
        log.info({}, 'lease: acquired')
        metrics?.setLeading(true)
        const ended = new AbortController()
        const leading = lead(AbortSignal.any([signal, closed.signal])).finally(() => ended.abort())
        // After a loss, the result and the errors of the work are ignored.
        leading.catch(() => undefined)
        await keep(ended.signal)
        await leading.finally(hold.release)
        log.info({}, 'lease: released')
      } finally {
        metrics?.setLeading(false)
        watchEnd.abort()
        await watching
      }
    },
  }
}

/** The lease as last observed, and the time for which it makes this process the leader. */
const createHold = ({ client, ref, identity, clock, timing }: Options & { timing: LeaseTiming }) => {
  let observed: ObservedLease | undefined
  /** Start of the last successful renewal. The server recorded it later. */
  let renewedAtMs: number | undefined
  const observe = (lease: Lease): void => {
    observed = observeLease(observed, lease, clock.monotonic())
  }
  const write = async (timeoutMs: number): Promise<boolean> => {
    const startedMs = clock.monotonic()
    const sent = buildLeaseClaim({
      ref,
      before: observed?.lease,
      identity,
      durationMs: timing.durationMs,
      nowMs: clock.now(),
    })
    try {
      observe(await (observed === undefined ? client.create(sent, { timeoutMs }) : client.replace(sent, { timeoutMs })))
      renewedAtMs = startedMs
      return true
    } catch (error) {
      if (isConflict(error) || isAlreadyExists(error) || isNotFound(error)) return false
      throw error
    }
  }
  const look = async (timeoutMs: number): Promise<void> => {
    try {
      observe(await client.get(ref, { timeoutMs }))
    } catch (error) {
      if (!isNotFound(error)) throw error
      observed = undefined
    }
  }
  const othersMs = (): number => leaseWaitMs(observed, identity, clock.monotonic())
  return {
    /** Takes the lease unless another process holds it. Returns true if this process holds it now. */
    tryAcquire: async (timeoutMs: number): Promise<boolean> => {
      await look(timeoutMs)
      return othersMs() > 0 ? false : write(timeoutMs)
    },
    /**
     * Renews the lease. Returns the reason if it is lost. A conflict alone may come from our own write whose response
     * was lost.
     */
    renew: async (timeoutMs: number): Promise<string | undefined> => {
      if (await write(timeoutMs)) return undefined
      await look(timeoutMs)
      if (observed === undefined) return 'it was deleted'
      const { holderIdentity: holder = '' } = observed.lease.spec ?? {}
      return holder === identity ? undefined : `${holder === '' ? 'it was released' : `${holder} has it`}`
    },
    release: async (): Promise<void> => {
      renewedAtMs = undefined
      if (observed === undefined) return
      // A lease that cannot be released expires by itself.
      await client
        .replace(buildLeaseRelease(ref, observed.lease, clock.now()), { timeoutMs: timing.retryMs })
        .catch(() => {})
    },
    /**
     * Records another holder's renewal from a watch, so that its expiry counts from that time and not from our next
     * check.
     */
    observe: (lease: Lease): void => {
      const version = observed?.lease.metadata.resourceVersion ?? ''
      if (!isOlder(lease.metadata.resourceVersion ?? '', version)) observe(lease)
    },
    othersMs,
    holding: (): boolean => renewedAtMs !== undefined,
    leftMs: (): number => (renewedAtMs === undefined ? 0 : renewedAtMs + timing.renewDeadlineMs - clock.monotonic()),
  }
}

/** Watches the lease and reports each change, undefined for a deletion, before the next check would find it. */
const watchLease = (options: Options, signal: AbortSignal, onLease: (lease?: Lease) => void): Promise<void> => {
  const { client, ref, clock, random, log } = options
  const cache = createReflector({
    client,
    clock,
    random,
    log,
    fieldSelector: `metadata.name=${ref.name}`,
    ...withDefined({ namespace: ref.namespace }),
  })
  cache.onChange(({ type, object }) => (type === 'deleted' ? onLease() : onLease(object)))
  return cache.run(signal)
}
