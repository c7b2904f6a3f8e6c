import { type Clock, sleep } from '#shared/clock.ts'
import type { Client } from './client.ts'
import { isAlreadyExists, isConflict, isNotFound } from './errors.ts'
import type { Fence } from './fence.ts'
import { heldByOthersMs, type Lease, type ObservedLease, observeLease, releasedLease, takenLease } from './lease.ts'
import { type KubeLog, withFields } from './log.ts'
import type { KubeMetrics } from './metrics.ts'
import { type ObjectRef, objectKey } from './objects.ts'
import { createReflector } from './reflector.ts'
import { isOlder } from './versions.ts'

/** How a lease is held, in milliseconds: each must be shorter than the one before it. */
export type LeaseTiming = {
  /** How long the others wait for a leader that is silent. */
  readonly durationMs: number
  /** How long a leader may go on writing after it last began a renewal that succeeded. */
  readonly renewDeadlineMs: number
  /** How often the leader renews, and the others look. */
  readonly retryMs: number
}

/** client-go's timing. */
export const defaultLeaseTiming: LeaseTiming = { durationMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2_000 }

/** The lease is gone, and with it the right to write: the process must end, since its view of the world is too old. */
export class LeaseLostError extends Error {
  override name = 'LeaseLostError'
}

/** One leader among the processes that name the same lease. */
export type Election = {
  /**
   * Waits for the lease, then runs `lead` and renews until `lead` ends; then the lease is released, so that a standby
   * follows at once. The signal ends the waiting, and is passed on to `lead`. Rejects with a `LeaseLostError` as soon as
   * the lease is lost; `lead` is aborted then and not waited for. Once only.
   */
  run(signal: AbortSignal, lead: (signal: AbortSignal) => Promise<void>): Promise<void>
  /** Open only while the lease is surely held, by this machine's monotonic time. */
  readonly fence: Fence
  /** False once a leader has not renewed for longer than the others wait: it should have ended itself. */
  alive(): boolean
}

type Options = {
  /** Over a transport of its own, so that no backlog of calls delays a renewal; and not behind the fence. */
  client: Client<Lease>
  ref: ObjectRef
  /**
   * Who this process is: one process's alone at any time. One that finds its own identity in the lease takes it at
   * once, so a name that outlives a restart (a pod's uid) spares the wait.
   */
  identity: string
  timing?: LeaseTiming
  clock: Clock
  random: () => number
  log: KubeLog
  metrics?: KubeMetrics
}

/** Takes part in an election by a Lease, as client-go's leaderelection does. */
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
    return new LeaseLostError(`The lease ${name} is lost: ${why}. Nothing is written any more; start again.`)
  }
  /** Aborted when there is something to look at: the lease is free, or (for its leader) it is not ours any more. */
  let wake = new AbortController()
  const pause = async (delayMs: number, signal: AbortSignal): Promise<void> => {
    wake = new AbortController()
    await sleep(clock, delayMs, AbortSignal.any([signal, wake.signal]))
  }
  /** Waits for the lease; false where the signal came first. */
  const acquire = async (signal: AbortSignal): Promise<boolean> => {
    while (!signal.aborted) {
      const taken = await hold.take(timing.renewDeadlineMs / 2).catch((error: unknown) => {
        log.warn({ err: error }, 'lease: cannot be asked for, and is tried again')
        return false
      })
      if (taken) return true
      const againMs = timing.retryMs * (1 + random() / 5)
      const freeInMs = hold.othersMs()
      await pause(freeInMs > 0 ? Math.min(freeInMs, againMs) : againMs, signal)
    }
    return false
  }
  /** Renews until the signal; throws once the lease is lost. */
  const keep = async (signal: AbortSignal): Promise<void> => {
    for (;;) {
      await pause(Math.min(timing.retryMs, Math.max(0, hold.leftMs())), signal)
      if (signal.aborted) return
      const leftMs = hold.leftMs()
      if (leftMs <= 0) throw lost(`it was not renewed for ${timing.renewDeadlineMs} ms`)
      try {
        const taker = await hold.renew(Math.min(leftMs, timing.renewDeadlineMs / 2))
        if (taker !== undefined) throw lost(taker)
      } catch (error) {
        if (error instanceof LeaseLostError) throw error
        log.warn({ err: error }, 'lease: cannot be renewed, and is tried again')
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
      metrics?.leading(false)
      const over = new AbortController()
      const watching = watchLease(options, over.signal, (lease) => {
        const holder = lease?.spec?.holderIdentity ?? ''
        if (hold.holding() ? holder !== identity : holder === '') wake.abort()
        else if (lease !== undefined) hold.see(lease)
      })
      try {
        if (!(await acquire(signal))) return
        log.info({}, 'lease: taken, and this process leads')
        metrics?.leading(true)
        const ended = new AbortController()
        const leading = lead(AbortSignal.any([signal, closed.signal])).finally(() => ended.abort())
        // After a loss nobody waits for the work any more, nor for how it fails.
        leading.catch(() => undefined)
        await keep(ended.signal)
        await leading.finally(hold.release)
        log.info({}, 'lease: released')
      } finally {
        metrics?.leading(false)
        over.abort()
        await watching
      }
    },
  }
}

/** The record as it was last seen, and how long it makes this process the leader. */
const createHold = ({ client, ref, identity, clock, timing }: Options & { timing: LeaseTiming }) => {
  let observed: ObservedLease | undefined
  /** When the last renewal that succeeded was begun: whatever the server did, it did later. */
  let renewedAtMs: number | undefined
  const observe = (lease: Lease): void => {
    observed = observeLease(observed, lease, clock.monotonic())
  }
  const write = async (timeoutMs: number): Promise<boolean> => {
    const startedMs = clock.monotonic()
    const sent = takenLease({
      ...{ ref, before: observed?.lease, identity, durationMs: timing.durationMs, nowMs: clock.now() },
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
  const othersMs = (): number => heldByOthersMs(observed, identity, clock.monotonic())
  return {
    /** Takes the lease unless it is another's; true where this process holds it now. */
    take: async (timeoutMs: number): Promise<boolean> => {
      await look(timeoutMs)
      return othersMs() > 0 ? false : write(timeoutMs)
    },
    /** Renews; what it returns is why the lease is not ours any more. A conflict alone may be our own lost answer. */
    renew: async (timeoutMs: number): Promise<string | undefined> => {
      if (await write(timeoutMs)) return undefined
      await look(timeoutMs)
      if (observed === undefined) return 'it was deleted'
      const { holderIdentity: holder = '' } = observed.lease.spec ?? {}
      return holder === identity ? undefined : `${holder === '' ? 'somebody gave it up' : `${holder} has it`}`
    },
    release: async (): Promise<void> => {
      renewedAtMs = undefined
      if (observed === undefined) return
      // A lease that cannot be given back runs out by itself.
      await client
        .replace(releasedLease(ref, observed.lease, clock.now()), { timeoutMs: timing.retryMs })
        .catch(() => {})
    },
    /** What a watch tells of another's renewal, so that its silence counts from there and not from our next look. */
    see: (lease: Lease): void => {
      const version = observed?.lease.metadata.resourceVersion ?? ''
      if (!isOlder(lease.metadata.resourceVersion ?? '', version)) observe(lease)
    },
    othersMs,
    holding: (): boolean => renewedAtMs !== undefined,
    leftMs: (): number => (renewedAtMs === undefined ? 0 : renewedAtMs + timing.renewDeadlineMs - clock.monotonic()),
  }
}

/** Tells of each change, undefined where the lease was deleted; without it a change would be found by the next look. */
const watchLease = (options: Options, signal: AbortSignal, tell: (lease?: Lease) => void): Promise<void> => {
  const { client, ref, clock, random, log } = options
  const cache = createReflector({
    ...{ client, clock, random, log, fieldSelector: `metadata.name=${ref.name}` },
    ...(ref.namespace === undefined ? {} : { namespace: ref.namespace }),
  })
  cache.onChange(({ type, object }) => (type === 'deleted' ? tell() : tell(object)))
  return cache.run(signal)
}
