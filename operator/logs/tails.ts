import type { Pod, PodRole } from '#operator/pods/pod.ts'
import type { Clock } from '#shared/clock.ts'
import type { Transport } from '#shared/kube/transport.ts'
import type { Log } from '#shared/log.ts'
import { limitBytes, maxTailBytes, tailKeptMs } from '#shared/logs/reasons.ts'
import { logPathOf } from './read.ts'

/** The limit for reading the end of a log: the deletion of the pod waits for it. */
const readMs = 2_000
/** The maximum number of reads under way. A further log is not read, so that many failures at once delay no deletion. */
const maxReads = 8
/** The maximum number of tails in memory, 8 MiB in all. The oldest one is dropped first. */
const maxTails = 128
/**
 * Numbers of last lines to read. The next one is tried if the lines are larger than `maxReadBytes`. Then the lines are so long
 * that fewer of them still give 64 KiB on average. The first number gives 64 KiB if lines have at least 32 bytes on average.
 */
const lineCounts = [2_048, 128, 8]
/** The maximum size of one read. Lines may have any length. */
const maxReadBytes = 16 * maxTailBytes

/** The ends of the logs of pods that are about to be deleted. */
export type Tails = {
  /** Reads the end of a pod's log. Takes 2 seconds at most and never throws. */
  keep(pod: Pod, role: PodRole): Promise<void>
  /** Returns the end of the log of a pod, at most 64 KiB, for 10 minutes after it was read. */
  get(podUid: string): Buffer | undefined
}

/** Creates an empty store of tails. It is in memory only, so a restart loses them. */
export const createTails = ({
  transport,
  clock,
  log,
}: {
  transport: Pick<Transport, 'bytes'>
  clock: Clock
  log: Log
}): Tails => {
  const tails = new Map<string, { bytes: Buffer | undefined; untilMs: number }>()
  let reads = 0
  const put = (uid: string, bytes: Buffer | undefined): void => {
    if (tails.size >= maxTails) tails.delete(tails.keys().next().value ?? '')
    tails.set(uid, { bytes, untilMs: clock.monotonic() + tailKeptMs })
  }
  return {
    keep: async (pod, role) => {
      const { uid = '', namespace, name } = pod.metadata
      if (tails.has(uid) || reads >= maxReads) return
      reads += 1
      try {
        put(uid, await readEnd(transport, pod, role))
      } catch (error) {
        // A pod whose node does not answer delays its deletion once only.
        put(uid, undefined)
        const why = error instanceof Error ? error.message : String(error)
        log.info({ pod: `${namespace}/${name}`, why }, 'the end of a log could not be kept')
      } finally {
        reads -= 1
      }
    },
    get: (podUid) => {
      const tail = tails.get(podUid)
      if (tail !== undefined && tail.untilMs > clock.monotonic()) return tail.bytes
      tails.delete(podUid)
      return undefined
    },
  }
}

/** Reads the last lines and returns the last 64 KiB of them. Holds about twice as much at most. */
const readEnd = async (transport: Pick<Transport, 'bytes'>, pod: Pod, role: PodRole): Promise<Buffer> => {
  const request = { path: logPathOf({ pod, role }), signal: AbortSignal.timeout(readMs), timeoutMs: readMs }
  let end = Buffer.alloc(0)
  for (const lines of lineCounts) {
    const query = { container: role, tailLines: String(lines), limitBytes: String(maxReadBytes) }
    let bytes = 0
    end = Buffer.alloc(0)
    for await (const chunk of limitBytes(transport.bytes({ ...request, query }), maxReadBytes)) {
      bytes += chunk.length
      end = Buffer.concat([end, chunk.subarray(-maxTailBytes)])
      if (end.length > maxTailBytes) end = Buffer.from(end.subarray(-maxTailBytes))
    }
    if (bytes < maxReadBytes) return end
  }
  // The last lines are longer than the limit, so this is a part of them.
  return end
}
