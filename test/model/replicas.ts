import { setTimeout as delay } from 'node:timers/promises'
import type { Service } from '#dev/process.ts'
import { pick } from './model.ts'

/**
 * The replicas of the API or the operator. One that ends is started again, as by a kubelet. Each fault is that of one replica,
 * picked at random.
 */
export const createReplicas = <P extends Service>(start: (at: number) => Promise<P>) => {
  const running: P[] = []
  const starting: Promise<void>[] = []
  let random = Math.random
  const supervise = async (at: number): Promise<void> => {
    const process = await start(at)
    running[at] = process
    void process.exited.then(() => {
      if (running[at] === process) starting[at] = supervise(at)
    })
  }
  const startUntil = async (count: number): Promise<void> => {
    while (running.length < count) await supervise(running.length)
  }
  /** Takes all replicas from a position on out of the supervision. */
  const release = async (from: number): Promise<P[]> => {
    await Promise.all(starting)
    return running.splice(from)
  }
  const endOne = async (end: (process: P) => Promise<unknown>): Promise<void> => {
    const at = pick([...running.keys()], random) ?? 0
    const process = running[at]
    if (process === undefined) return
    await end(process)
    await starting[at]
  }
  const kill = async (process: P): Promise<void> => {
    process.signal('SIGKILL')
    await process.exited
  }
  return {
    /** Starts or stops replicas. `next` picks those of the following faults. */
    scaleTo: async (count: number, next: () => number = random): Promise<void> => {
      random = next
      for (const process of await release(count)) await process.stop()
      await startUntil(count)
    },
    kill: () => endOne(kill),
    /** Stops a replica in order, so that another one leads at once, and starts it again. */
    replace: () => endOne((process) => process.stop()),
    suspend: async (ms: number): Promise<void> => {
      const process = pick(running, random)
      process?.signal('SIGSTOP')
      await delay(ms)
      process?.signal('SIGCONT')
    },
    /** Kills all replicas, acts, and starts as many. */
    whileKilled: async (act: () => Promise<void>): Promise<void> => {
      const killed = await release(0)
      await Promise.all(killed.map(kill))
      await act()
      await startUntil(killed.length)
    },
    stop: async (): Promise<void> => {
      for (const process of await release(0)) await process.stop()
    },
  }
}
