import { spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { withDefined } from '#shared/optional.ts'
import { endsWithThisProcess } from './parent.ts'

/** A child process. */
export type Service = {
  readonly name: string
  readonly pid: number
  readonly exited: Promise<{ code: number | null; signal: string | null }>
  hasExited(): boolean
  /** Sends the stop signal, and SIGKILL after the timeout. Resolves when the process has ended. */
  stop(options?: { timeoutMs?: number }): Promise<void>
  /** Sends a signal, such as SIGKILL or SIGSTOP in fault tests. */
  signal(name: NodeJS.Signals): void
}

/** The command of a service and its readiness check. */
export type ServiceOptions = {
  name: string
  command: string
  args: readonly string[]
  env?: Record<string, string>
  cwd?: string
  logFile: string
  ready: (signal: AbortSignal) => Promise<boolean>
  readyTimeoutMs: number
  /** The signal that ends the process. Default: SIGTERM. */
  stopSignal?: NodeJS.Signals
  /** The signal that the process gets on Linux when this process ends without stopping it. Default: `stopSignal`. */
  deathSignal?: NodeJS.Signals | undefined
  /** The account to run as. Only root may set it. */
  uid?: number
  gid?: number
}

/** The variable with which a user sets the state folder of a stack. */
export const stateVariable = 'ORRERY_STATE_DIR'
/** The variable that marks the processes of a running stack with its state folder. Users have no reason to set it. */
export const stackMark = 'ORRERY_STACK'
const pollMs = 50
const attemptTimeoutMs = 2_000
const lastLines = 12

/**
 * Starts a child process in its own session, so that Ctrl-C reaches only the parent, which stops it in order. Resolves when
 * it is ready. On Linux it gets a signal when this process ends, even by SIGKILL. Throws an error with the end of its
 * log if it cannot be started, ends first or is not ready in time.
 */
export const startService = async (options: ServiceOptions): Promise<Service> => {
  mkdirSync(dirname(options.logFile), { recursive: true })
  const log = openSync(options.logFile, 'a')
  const deathSignal = options.deathSignal ?? options.stopSignal
  const { command, args } = endsWithThisProcess(options.command, options.args, deathSignal)
  const child = spawn(command, args, {
    detached: true,
    stdio: ['ignore', log, log],
    ...withDefined({ cwd: options.cwd, uid: options.uid, gid: options.gid }),
    env: { ...inherited(), ...options.env },
  })
  closeSync(log)
  let over = false
  let unstartable: Error | undefined
  const exited = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    const end = (code: number | null, signal: string | null): void => {
      over = true
      resolve({ code, signal })
    }
    // A signal that cannot be sent emits an error event too, although nothing ended.
    child.on('error', (error) => {
      if (child.pid !== undefined) return
      unstartable = error
      end(null, null)
    })
    child.once('exit', end)
  })
  const service: Service = {
    name: options.name,
    pid: child.pid ?? 0,
    exited,
    hasExited: () => over,
    signal: (name) => void child.kill(name),
    stop: async ({ timeoutMs = 10_000 } = {}) => {
      if (over) return
      child.kill(options.stopSignal ?? 'SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs)
      await exited
      clearTimeout(timer)
    },
  }
  if (child.pid === undefined) await exited
  await untilReady(service, options, () => unstartable)
  return service
}

/** Children inherit only PATH, HOME, and the mark by which a later start finds those that outlived this process. */
const inherited = (): Record<string, string> =>
  Object.fromEntries(
    ['PATH', 'HOME', stackMark].flatMap((name) => {
      const value = process.env[name]
      return value === undefined ? [] : [[name, value]]
    }),
  )

const untilReady = async (
  service: Service,
  options: ServiceOptions,
  unstartable: () => Error | undefined,
): Promise<void> => {
  const deadline = AbortSignal.timeout(options.readyTimeoutMs)
  while (!deadline.aborted && !service.hasExited()) {
    const attempt = AbortSignal.any([deadline, AbortSignal.timeout(attemptTimeoutMs)])
    const answer = options.ready(attempt).catch(() => false)
    // A check that never returns must not outlast the process or the timeout. Otherwise it is over before the next one starts.
    const isReady = await Promise.race([answer, aborted(deadline), service.exited.then(() => false)])
    if (isReady && !service.hasExited()) return
    await delay(pollMs)
  }
  const cause = unstartable()
  if (cause) throw new Error(`${options.name} cannot be started: ${cause.message}`, { cause })
  const why = service.hasExited() ? 'ended before it was ready' : `was not ready within ${options.readyTimeoutMs} ms`
  await service.stop({ timeoutMs: 1_000 })
  throw new Error(`${options.name} ${why}. The end of its log, ${options.logFile}:\n${tail(options.logFile)}`)
}

const aborted = (signal: AbortSignal): Promise<false> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(false), { once: true }))

const tail = (file: string): string => readFileSync(file, 'utf8').trimEnd().split('\n').slice(-lastLines).join('\n')
