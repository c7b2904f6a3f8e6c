import { execFile, execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { obtainGoProgram } from '#dev/goPrograms.ts'
import { obtainBinaries } from '#dev/kubernetes/binaries.ts'
import { freePort } from '#dev/ports.ts'
import { type Service, startService } from '#dev/process.ts'
import { findProgram } from '#dev/programs.ts'
import type { NodeOptions } from './types.ts'

const run = promisify(execFile)
const nftFamilies = ['ip', 'ip6'] as const

/** The programs that give services their addresses and names. */
export type ServicePrograms = { readonly kubeProxy: string; readonly coreDns: string }

/**
 * Returns the programs of services, or undefined if this machine cannot run them. `progress` gives the reason. The tables
 * of kube-proxy belong to the whole machine, so only one node of a machine has services.
 */
export const findServicePrograms = async ({
  env,
  progress,
}: Pick<NodeOptions, 'env' | 'progress'>): Promise<ServicePrograms | undefined> => {
  const programs = await whyNone(env, progress)
  if (typeof programs !== 'string') return programs
  progress(`services get no addresses and names on this node: ${programs}`)
  return undefined
}

const whyNone = async (
  env: NodeJS.ProcessEnv,
  progress: NodeOptions['progress'],
): Promise<ServicePrograms | string> => {
  if (findProgram(env, 'nft') === undefined) return 'this machine has no nft (apt-get install nftables)'
  if (isKubeProxyRunning()) return 'another kube-proxy runs on this machine'
  const { found, tried } = await obtainBinaries(['kube-proxy'], { env, progress })
  if (found['kube-proxy'] === undefined) return `this machine has no kube-proxy (${tried.join('; ')})`
  try {
    return { kubeProxy: found['kube-proxy'], coreDns: await obtainGoProgram('coredns', { env, progress }) }
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

const isKubeProxyRunning = (): boolean =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .some((pid) => /^\S*kube-proxy$/.test(commandOf(pid)))

const commandOf = (pid: string): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')[0] ?? ''
  } catch {
    // The process has ended since the folder was listed.
    return ''
  }
}

/** Starts kube-proxy for a registered node. Tables that a killed one left are removed first. */
export const startKubeProxy = async (
  { controlPlane, logDir }: NodeOptions,
  { command, node }: { command: string; node: string },
): Promise<Service> => {
  removeTables()
  const health = `127.0.0.1:${await freePort()}`
  const service = await startService({
    name: 'kube-proxy',
    command,
    args: [
      `--kubeconfig=${await controlPlane.kubeconfig({ user: 'system:kube-proxy' })}`,
      '--proxy-mode=nftables',
      // Answers between pods of the bridge would bypass the host, which rewrites addresses.
      '--masquerade-all',
      `--hostname-override=${node}`,
      `--healthz-bind-address=${health}`,
      `--metrics-bind-address=127.0.0.1:${await freePort()}`,
      '--conntrack-max-per-core=0',
      '--conntrack-tcp-timeout-established=0s',
      '--conntrack-tcp-timeout-close-wait=0s',
    ],
    logFile: join(logDir, 'kube-proxy.log'),
    ready: async (signal) => (await fetch(`http://${health}/healthz`, { signal })).ok,
    readyTimeoutMs: 60_000,
  })
  return {
    ...service,
    stop: async (options) => {
      await service.stop(options)
      removeTables()
    },
  }
}

/** Removes the tables of kube-proxy, which it leaves when it ends. */
const removeTables = (): void => {
  for (const family of nftFamilies) {
    try {
      execFileSync('nft', ['delete', 'table', family, 'kube-proxy'], { stdio: 'ignore' })
    } catch {
      // This family has none.
    }
  }
}

/**
 * Makes the bridge of a node's pods with its address. The network plugin would make it with the first pod, which is too
 * late for a DNS server that listens there.
 */
export const createBridge = async (bridge: string, address: string): Promise<void> => {
  await run('ip', ['link', 'add', bridge, 'type', 'bridge'])
  await run('ip', ['address', 'add', `${address}/24`, 'dev', bridge])
  await run('ip', ['link', 'set', bridge, 'up'])
}

/** Starts CoreDNS on port 53 of the address: the names of services, and all others as this machine resolves them. */
export const startDns = async (
  { controlPlane, dir, logDir }: NodeOptions,
  { command, address }: { command: string; address: string },
): Promise<Service> => {
  const file = join(dir, 'Corefile')
  const health = `127.0.0.1:${await freePort()}`
  const hasUpstream = /^nameserver /m.test(readFileSync('/etc/resolv.conf', 'utf8'))
  writeFileSync(
    file,
    `.:53 {
  bind ${address}
  errors
  ready ${health}
  kubernetes cluster.local {
    kubeconfig ${controlPlane.adminKubeconfig}
  }
  ${hasUpstream ? 'forward . /etc/resolv.conf' : ''}
  cache 5
}
`,
  )
  return startService({
    name: 'coredns',
    command,
    args: ['-conf', file],
    logFile: join(logDir, 'coredns.log'),
    ready: async (signal) => (await fetch(`http://${health}/ready`, { signal })).ok,
    readyTimeoutMs: 60_000,
  })
}
