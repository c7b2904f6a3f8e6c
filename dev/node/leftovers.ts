import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

const cgroups = '/sys/fs/cgroup'
const cniResults = '/var/lib/cni/results'
const waitMs = 5_000

/** The names that a node uses on the machine. Each contains its id, so that nothing else is touched. */
export const placesOf = (id: string) => ({
  runDir: `/run/orrery-${id}`,
  cgroup: `orrery-${id}`,
  bridge: `orr${id}`,
  network: `orrery-${id}`,
})

/**
 * Removes what a node of that id left behind, also one that was killed: processes, mounts, network namespaces, the
 * bridge, cgroups and folders. Doing it again, or where nothing is left, does nothing.
 */
export const removeLeftovers = async (id: string, dirs: readonly string[]): Promise<void> => {
  const { runDir, cgroup, bridge, network } = placesOf(id)
  await endProcesses(cgroup, runDir)
  unmountBelow([runDir, ...dirs])
  removeNetworkNamespaces(network)
  quietly('ip', ['link', 'delete', bridge])
  for (const root of cgroupRoots()) removeCgroup(join(root, cgroup))
  for (const dir of [runDir, ...dirs]) rmSync(dir, { recursive: true, force: true })
}

/** The cgroup trees: one for each controller in version 1, a single one in version 2. */
export const cgroupRoots = (): string[] =>
  existsSync(join(cgroups, 'cgroup.controllers'))
    ? [cgroups]
    : readdirSync(cgroups)
        .map((name) => join(cgroups, name))
        .filter((path) => existsSync(join(path, 'cgroup.procs')))

/** Kills what runs in the node's cgroups, and the shims and daemons whose command line names its run folder. */
const endProcesses = async (cgroup: string, runDir: string): Promise<void> => {
  const deadlineMs = performance.now() + waitMs
  for (;;) {
    const pids = [...cgroupRoots().flatMap((root) => processesOf(join(root, cgroup))), ...processesNaming(`${runDir}/`)]
    if (pids.length === 0 || performance.now() > deadlineMs) return
    for (const pid of new Set(pids)) kill(pid)
    await delay(50)
  }
}

const processesOf = (dir: string): number[] => {
  if (!existsSync(dir)) return []
  const own = readText(join(dir, 'cgroup.procs')).split('\n').filter(Boolean).map(Number)
  const below = readdirSync(dir, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  return [...own, ...below.flatMap((entry) => processesOf(join(dir, entry.name)))]
}

const processesNaming = (text: string): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => /^\S*(containerd|kubelet)/.test(readText(`/proc/${pid}/cmdline`)))
    .filter((pid) => readText(`/proc/${pid}/cmdline`).includes(text))
    .map(Number)

const unmountBelow = (dirs: readonly string[]): void => {
  const mounts = readText('/proc/mounts')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((path) => dirs.some((dir) => path === dir || path.startsWith(`${dir}/`)))
  for (const path of mounts.reverse()) quietly('umount', ['-l', path])
}

/** The CNI library notes which namespace each sandbox of a network has. */
const removeNetworkNamespaces = (network: string): void => {
  if (!existsSync(cniResults)) return
  for (const name of readdirSync(cniResults).filter((each) => each.startsWith(`${network}-`))) {
    const netns = /"netns":\s*"([^"]+)"/.exec(readText(join(cniResults, name)))?.[1]
    if (netns?.includes('/netns/')) {
      quietly('umount', ['-l', netns])
      rmSync(netns, { force: true })
    }
    rmSync(join(cniResults, name), { force: true })
  }
}

const removeCgroup = (dir: string): void => {
  if (!existsSync(dir)) return
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    if (entry.isDirectory()) removeCgroup(join(dir, entry.name))
  }
  try {
    rmdirSync(dir)
  } catch {
    // A process that is still ending holds it; the next start removes it.
  }
}

const readText = (path: string): string => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

const kill = (pid: number): void => {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It ended by itself meanwhile.
  }
}

const quietly = (command: string, args: string[]): void => {
  try {
    execFileSync(command, args, { stdio: 'ignore' })
  } catch {
    // It does not exist.
  }
}
