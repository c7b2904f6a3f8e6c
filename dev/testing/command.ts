import { spawn } from 'node:child_process'
import { endsWithThisProcess } from '#dev/parent.ts'

const graceMs = 30_000
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** The end of a command. `isLate` says that it was ended because of its limit. */
export type CommandEnd = { readonly code: number | null; readonly signal: string | null; readonly isLate: boolean }

/**
 * Runs a command with this terminal, in a process group of its own. After `limitMs` the group gets SIGTERM, and SIGKILL 30 s later.
 * A signal to this process ends
 * the group first, and then this process with exit code 1.
 */
export const runCommand = (
  command: string,
  args: readonly string[],
  { limitMs, env = {} }: { limitMs: number; env?: NodeJS.ProcessEnv },
): Promise<CommandEnd> => {
  const bound = endsWithThisProcess(command, args)
  const child = spawn(bound.command, bound.args, {
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...env },
  })
  const signalGroup = (signal: NodeJS.Signals): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal)
    } catch {
      // The group has ended.
    }
  }
  let isLate = false
  let isInterrupted = false
  const end = (signal: NodeJS.Signals): NodeJS.Timeout => {
    signalGroup(signal)
    return setTimeout(() => signalGroup('SIGKILL'), graceMs)
  }
  let killer: NodeJS.Timeout | undefined
  const limit = setTimeout(() => {
    isLate = true
    killer = end('SIGTERM')
  }, limitMs)
  const forward = (signal: NodeJS.Signals): void => {
    isInterrupted = true
    killer ??= end(signal)
  }
  for (const signal of signals) process.on(signal, forward)
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      clearTimeout(limit)
      clearTimeout(killer)
      for (const each of signals) process.off(each, forward)
      // What the command started and left in its group.
      signalGroup('SIGKILL')
      if (isInterrupted) process.exit(1)
      resolve({ code, signal, isLate })
    })
  })
}
