import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { findProgram } from '#dev/programs.ts'

const script = fileURLToPath(new URL('namespaces.sh', import.meta.url))
/** Set to `no` by a user who wants to reach the servers of a run from outside. */
const variable = 'ORRERY_TEST_NAMESPACES'

/**
 * Runs a Node program in namespaces of its own (mount, pid, net, ipc, uts) and returns its exit code. The run has its own ports,
 * interfaces and folders below /run, /var/lib and /var/log, no other network, and leaves no process behind, however it ends. Where
 * the kernel refuses namespaces, the program runs without them, and `say` gets the reason.
 */
export const runIsolated = (args: readonly string[], say: (line: string) => void): number => {
  const reason = whyNot()
  if (reason !== undefined) {
    say(`The tests run without namespaces of their own: ${reason}. Another stack on this machine may disturb them.`)
  }
  const [command = '', ...options] = reason === undefined ? [...isolation, process.execPath] : [process.execPath]
  const { status } = spawnSync(command, [...options, ...args], { stdio: 'inherit' })
  return status ?? 1
}

/** `setpriv` ends the namespaces if this process is killed, and `--kill-child` all processes inside them. */
const isolation = [
  ...['setpriv', '--pdeathsig', 'KILL', 'unshare', '--fork', '--kill-child', '--mount', '--propagation', 'private'],
  ...['--pid', '--mount-proc', '--net', '--ipc', '--uts', 'sh', script],
]

const whyNot = (): string | undefined => {
  if (process.env[variable] === 'no') return `${variable} is "no"`
  if (process.platform !== 'linux') return 'only Linux has them'
  if (process.getuid?.() !== 0) return 'only root can create them'
  const missing = ['setpriv', 'unshare', 'ip'].filter((name) => findProgram(process.env, name) === undefined)
  if (missing.length > 0) return `this machine has no ${missing.join(', ')}`
  const [command = '', ...options] = isolation
  const { status, stderr } = spawnSync(command, [...options, 'true'], { encoding: 'utf8' })
  return status === 0 ? undefined : stderr.trim().split('\n').at(-1)
}
