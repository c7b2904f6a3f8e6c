import { readFileSync } from 'node:fs'

/** The unit of times in /proc: sysconf(_SC_CLK_TCK), which is 100 on every architecture that Linux runs Node on. */
const ticksPerSecond = 100

/** Returns the CPU time of a process in seconds, in user and system mode, without that of its children. */
export const cpuSeconds = (pid: number): number => {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The fields after the name, which is in parentheses and may contain spaces: utime and stime are the 12th and 13th.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}
