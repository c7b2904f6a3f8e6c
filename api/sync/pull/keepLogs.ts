import { keepLog } from '#api/domain/logs/logs.ts'
import type { WorldRow } from '#api/domain/worlds/table.ts'
import type { Database } from '#api/platform/database/client.ts'
import type { LogSource } from '#api/platform/logs/source.ts'
import { type Clock, sleep } from '#shared/clock.ts'
import { deploymentIdOfRun } from '#shared/ids.ts'
import type { Log } from '#shared/log.ts'
import { tailKeptMs } from '#shared/logs/reasons.ts'
import type { LogTicket } from '#shared/logs/ticket.ts'
import type { World, WorldRun } from '#shared/resources/world.ts'

/** Fetches the ends of logs from the operator and keeps them with their deployments. Best effort: a restart loses the queue. */
export type LogKeeper = {
  /** Queues the server of a World that failed or ended by itself, if it has not been fetched yet. */
  note(row: WorldRow, live: World): void
}

/** A log to fetch. */
type Wanted = {
  readonly deploymentId: string
  readonly organizationId: string
  readonly worldId: string
  readonly podUid: string
  readonly ticket: LogTicket
}

const maxQueued = 1_000
const maxSeen = 10_000
const concurrency = 4
/** The waits before the attempts. The first lets the transaction of the pull commit, which may add the deployment. */
const waitsMs = [300, 2_000, 10_000]

/** Creates the keeper of a replica. It stops with the signal. */
export const createLogKeeper = (options: {
  readonly db: Database
  /** Returns the source of the cluster, which may change. */
  readonly logs: () => LogSource
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
}): LogKeeper => {
  const { clock, log, signal } = options
  const queue: Wanted[] = []
  const seen = new Set<string>()
  let workers = 0
  const work = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined && !signal.aborted; next = queue.shift()) {
      await fetchAndKeep(options, next).catch((error: unknown) =>
        log.info({ deployment: next?.deploymentId, err: error }, 'the end of a log could not be kept'),
      )
    }
  }
  return {
    note: (row, live) => {
      const run = live.status?.run
      const podUid = run && endedPodOf(run, live, clock.now())
      if (run === undefined || podUid === undefined || seen.has(podUid) || queue.length >= maxQueued) return
      const ticket = ticketOf(live, run, podUid)
      if (ticket === undefined) return
      if (seen.size >= maxSeen) seen.delete(seen.values().next().value ?? '')
      seen.add(podUid)
      const { organizationId, id: worldId } = row
      queue.push({ deploymentId: deploymentIdOfRun(run.id), organizationId, worldId, podUid, ticket })
      if (workers >= concurrency) return
      workers += 1
      void work().finally(() => {
        workers -= 1
      })
    },
  }
}

/**
 * Returns the uid of the pod whose log the operator has kept: that of the last lost server, or of a run that ended by itself.
 * The operator forgets it after a time.
 */
const endedPodOf = (run: WorldRun, { status }: World, nowMs: number): string | undefined => {
  const hasEndedByItself = run.endReason === 'Completed' || run.endReason === 'StartDeadline'
  const [podUid, at] = hasEndedByItself
    ? [status?.deployment?.externalId || undefined, run.endedAt]
    : [run.countedPodUid, run.failedAt]
  return at !== undefined && nowMs - Date.parse(at) < tailKeptMs ? podUid : undefined
}

const ticketOf = ({ metadata }: World, run: WorldRun, podUid: string): LogTicket | undefined => {
  const { namespace, name, uid } = metadata
  if (namespace === undefined || uid === undefined) return undefined
  return { source: 'tail', namespace, kind: 'World', name, uid, runId: run.id, podUid, follow: false }
}

const fetchAndKeep = async (
  { db, logs, clock, signal }: Parameters<typeof createLogKeeper>[0],
  { ticket, ...owner }: Wanted,
): Promise<void> => {
  for (const [at, waitMs] of waitsMs.entries()) {
    await sleep(clock, waitMs, signal)
    if (signal.aborted) return
    try {
      const opened = await logs().open(ticket, signal)
      if ('refusal' in opened) return
      const content = Buffer.concat(await Array.fromAsync(opened.chunks))
      return await keepLog(db, { ...owner, content, now: new Date(clock.now()) })
    } catch (error) {
      if (at === waitsMs.length - 1) throw error
    }
  }
}
