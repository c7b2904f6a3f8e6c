import { existsSync } from 'node:fs'
import { findProgram } from '#dev/programs.ts'
import { startContainerdNode } from './containerd.ts'
import { startKwokNode } from './kwok.ts'
import type { NodeChoice, NodeKind, NodeOptions, StackNode } from './types.ts'

/** The programs that the real node needs, with their Debian packages. */
const programs: readonly (readonly [file: string, debian: string])[] = [
  ['containerd', 'containerd'],
  ['runc', 'runc'],
  ['/usr/lib/cni/bridge', 'containernetworking-plugins'],
  ['/bin/busybox', 'busybox-static'],
  ['ip', 'iproute2'],
  ['iptables', 'iptables'],
]

/** Returns what this machine lacks for the real node. */
export const missingForContainerd = (env: NodeJS.ProcessEnv): string[] => {
  const packages = programs.filter(([file]) => findProgram(env, file) === undefined).map(([, debian]) => debian)
  return [
    ...(process.platform === 'linux' ? [] : ['Linux']),
    ...(process.getuid?.() === 0 ? [] : ['root (start as root, or with sudo)']),
    ...(packages.length === 0 ? [] : [`these programs: apt-get install ${packages.join(' ')}`]),
    ...(existsSync('/sys/fs/cgroup/memory') || existsSync('/sys/fs/cgroup/cgroup.controllers') ? [] : ['cgroups']),
  ]
}

/**
 * Returns the chosen node, with the reason and how to choose the other. Throws if the real node is requested and
 * impossible.
 */
export const chooseNode = (choice: NodeChoice, missing: readonly string[]): { kind: NodeKind; why: string } => {
  const needs = `the real node needs ${missing.join(', and ')}`
  if (choice === 'containerd' && missing.length > 0) throw new Error(`--node containerd: ${needs}.`)
  if (choice === 'containerd') return { kind: 'containerd', why: 'the real kubelet with containerd, as requested' }
  if (choice === 'kwok') {
    return { kind: 'kwok', why: 'a simulated node, as requested: no container runs (--node containerd for a real one)' }
  }
  return missing.length === 0
    ? { kind: 'containerd', why: 'the real kubelet with containerd (--node kwok for a simulated one)' }
    : { kind: 'kwok', why: `a simulated node, on which no container runs, since ${needs}` }
}

/** Starts a node and waits until it is Ready. */
export const startNode = (kind: NodeKind, options: NodeOptions): Promise<StackNode> =>
  kind === 'containerd' ? startContainerdNode(options) : startKwokNode(options)
