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
 * Removes everything that a node with that id left behind, even a killed one: processes, mounts, network namespaces, the
 * bridge, the rules of host ports, cgroups and the folders `dirs`. The rest of `nodeDir`, such as the images, stays, without its
 * mounts: containerd leaves a temporary one if it ends while it reads an image. It is idempotent.
 */
export const removeLeftovers = async (id: string, nodeDir: string, dirs: readonly string[] = []): Promise<void> => {
  const { runDir, cgroup, bridge, network } = placesOf(id)
  await endProcesses(cgroup, runDir)
  unmountBelow([runDir, nodeDir])
  removeCniResults(runDir)
  quietly('ip', ['link', 'delete', bridge])
  removeHostPorts(network)
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

/** Kills the processes in the node's cgroups, and the shims and daemons whose command line names its run folder. */
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

/** Removes the records that the CNI library keeps of sandboxes whose network namespace is below the run folder. */
const removeCniResults = (runDir: string): void => {
  if (!existsSync(cniResults)) return
  for (const name of readdirSync(cniResults)) {
    const file = join(cniResults, name)
    if (readText(file).includes(`"${runDir}/`)) rmSync(file, { force: true })
  }
}

/**
 * Removes the rules with which the plugin `portmap` opened host ports of that network. The chains of all networks go with the
 * last rule. Two transactions, since the second one fails if another node uses these chains again.
 */
const removeHostPorts = (network: string): void => {
  const rules = (start: string): string[] =>
    outputOf('iptables-save', ['-t', 'nat'])
      .split('\n')
      .filter((line) => line.startsWith(start))
  const remove = (entries: readonly string[], chains: readonly string[]): void => {
    const lines = [...entries.map((rule) => rule.replace('-A', '-D')), ...chains.map((chain) => `-X ${chain}`)]
    quietly('iptables-restore', ['--noflush', '--wait', '5'], ['*nat', ...lines, 'COMMIT', ''].join('\n'))
  }
  const entries = rules('-A CNI-HOSTPORT-DNAT ').filter((rule) => rule.includes(`name: \\"${network}\\" `))
  const chains = [...new Set(entries.map((rule) => rule.replace(/.* -j /, '')))]
  if (entries.length > 0) remove([...entries, ...chains.flatMap((chain) => rules(`-A ${chain} `))], chains)
  const shared = rules('-A ').filter((rule) => rule.includes(' CNI-HOSTPORT-'))
  if (shared.length === 0 || rules('-A CNI-DN-').length > 0) return
  remove(shared, ['CNI-HOSTPORT-DNAT', 'CNI-HOSTPORT-MASQ', 'CNI-HOSTPORT-SETMARK'])
}

const removeCgroup = (dir: string): void => {
  if (!existsSync(dir)) return
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    if (entry.isDirectory()) removeCgroup(join(dir, entry.name))
  }
  try {
    rmdirSync(dir)
  } catch {
    // A process that is still ending uses it; the next start removes it.
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
    // The process has ended meanwhile.
  }
}

const quietly = (command: string, args: string[], input?: string): void => void outputOf(command, args, input)

/** Returns the output of a command, or nothing if it fails: what it names does not exist. */
const outputOf = (command: string, args: string[], input = ''): string => {
  try {
    return execFileSync(command, args, { input, stdio: ['pipe', 'pipe', 'ignore'], encoding: 'utf8' })
  } catch {
    return ''
  }
}
