import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { stackMark } from './process.ts'

const waitMs = 10_000

/**
 * Ends the processes that a killed stack with that state folder left behind, and returns their number. They are found
 * by a variable in their environment, which only Linux shows; elsewhere nothing happens.
 */
export const endOrphans = async (stateDir: string): Promise<number> => {
  const found = orphansOf(stateDir)
  const deadlineMs = performance.now() + waitMs
  for (let left = found; left.length > 0 && performance.now() < deadlineMs; left = orphansOf(stateDir)) {
    for (const pid of left) kill(pid, performance.now() < deadlineMs - waitMs / 2 ? 'SIGTERM' : 'SIGKILL')
    await delay(200)
  }
  return found.length
}

/** Returns the pid of a pid file if that process still runs a stack. */
export const runnerOf = (pidText: string): number | undefined => {
  const pid = Number(pidText)
  return pid !== process.pid && read(`/proc/${pid}/cmdline`).includes('start.ts') ? pid : undefined
}

const orphansOf = (stateDir: string): number[] => {
  if (process.platform !== 'linux') return []
  const mark = `\0${stackMark}=${stateDir}\0`
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => `\0${read(`/proc/${pid}/environ`)}`.includes(mark))
    .map(Number)
}

const read = (path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

const kill = (pid: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(pid, signal)
  } catch {
    // The process has ended meanwhile.
  }
}
