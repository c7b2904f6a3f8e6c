import { createHash } from 'node:crypto'
import { cpus, loadavg, totalmem } from 'node:os'

const block = Buffer.alloc(2 ** 20)
const blocks = 64

/** Returns the load average of the last minute and the speed of one core: MiB of SHA-256 per second. */
export const measureMachine = (): { load: number; hashMiBPerSecond: number } => {
  const load = loadavg()[0] ?? 0
  const startedMs = performance.now()
  const hash = createHash('sha256')
  for (let at = 0; at < blocks; at += 1) hash.update(block)
  hash.digest()
  return { load, hashMiBPerSecond: (blocks * 1_000) / (performance.now() - startedMs) }
}

/** Returns the cores, memory and processor of this machine. */
export const describeMachine = (): string =>
  `${cpus().length} cores (${cpus()[0]?.model ?? 'unknown'}), ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}`
