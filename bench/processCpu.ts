import { readdirSync, readFileSync } from 'node:fs'
import { cpuSeconds } from './cpu.ts'

/** CPU seconds by the name of a program. */
export type ProcessCpu = ReadonlyMap<string, number>

/** Returns the CPU time of this process and of its descendants that run now, summed by program. */
export const readProcessCpu = (): ProcessCpu => {
  const parents = new Map<number, number>()
  for (const entry of readdirSync('/proc')) {
    const parent = /^\d+$/.test(entry) ? ignoreEnded(() => readParent(Number(entry))) : undefined
    if (parent !== undefined) parents.set(Number(entry), parent)
  }
  const isOurs = (pid: number): boolean => {
    const parent = parents.get(pid)
    return pid === process.pid || (parent !== undefined && parent !== 0 && isOurs(parent))
  }
  const totals = new Map<string, number>()
  for (const pid of parents.keys()) {
    if (!isOurs(pid)) continue
    ignoreEnded(() => {
      const name = nameOf(pid)
      totals.set(name, (totals.get(name) ?? 0) + cpuSeconds(pid))
    })
  }
  return totals
}

/** Returns the CPU seconds of this process and of its descendants that run now. */
export const totalCpu = (): number => [...readProcessCpu().values()].reduce((sum, seconds) => sum + seconds, 0)

/** Formats the CPU time between two readings as milliseconds for each of `count` objects, the largest first. */
export const describeCpu = (before: ProcessCpu, after: ProcessCpu, count: number): string => {
  const each = [...after]
    .map(([name, seconds]) => ({ name, ms: ((seconds - (before.get(name) ?? 0)) * 1_000) / count }))
    .toSorted((a, b) => b.ms - a.ms)
  const total = each.reduce((sum, { ms }) => sum + ms, 0)
  const parts = each.filter(({ ms }) => ms >= 0.5).map(({ name, ms }) => `${name} ${ms.toFixed(1)}`)
  return `ms of CPU for each: ${total.toFixed(1)} in all; ${parts.join(', ')}`
}

/** Returns the result of a look at a process, or undefined if it has ended meanwhile. */
const ignoreEnded = <T>(look: () => T): T | undefined => {
  try {
    return look()
  } catch {
    return undefined
  }
}

const readParent = (pid: number): number => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
}

/** Returns the name of a program. Node runs several of them: a main file is named by its folder. */
const nameOf = (pid: number): string => {
  if (pid === process.pid) return 'bench'
  const args = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  const main = args.map((arg) => /(?:^|\/)(api|operator)\/main\.ts$/.exec(arg)?.[1]).find((name) => name !== undefined)
  return main ?? readFileSync(`/proc/${pid}/comm`, 'utf8').trim()
}
