import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { podNetwork } from './containerd.ts'
import { missingForContainerd } from './index.ts'
import { placesOf, removeLeftovers } from './leftovers.ts'

const results = '/var/lib/cni/results'

/** Leaves what containerd and the CNI library of a killed node leave: a mounted network namespace and a record of it. */
const leaveSandbox = (id: string): { namespace: string; record: string } => {
  const dir = `${placesOf(id).runDir}/containerd/io.containerd.grpc.v1.cri/netns`
  const namespace = `${dir}/cni-1`
  const record = `${results}/cni-loopback-${id}-lo`
  for (const path of [dir, results]) mkdirSync(path, { recursive: true })
  writeFileSync(namespace, '')
  execFileSync('mount', ['--bind', '/proc/self/ns/net', namespace])
  writeFileSync(record, JSON.stringify({ result: { interfaces: [{ name: 'lo', sandbox: namespace }] } }))
  return { namespace, record }
}

/** Opens the host port as the CNI library does for a pod of that node. */
const openHostPort = (id: string, hostPort: number): void => {
  const { cniVersion, name, plugins } = podNetwork(id, '127.0.0.0/8')
  for (const plugin of plugins.filter((each) => each.capabilities?.portMappings)) {
    const portMappings = [{ hostPort, containerPort: 1, protocol: 'udp' }]
    const prevResult = { cniVersion, interfaces: [], ips: [{ address: '127.0.0.1/8' }] }
    execFileSync(`/usr/lib/cni/${plugin.type}`, {
      input: JSON.stringify({ ...plugin, cniVersion, name, runtimeConfig: { portMappings }, prevResult }),
      env: {
        ...process.env,
        CNI_COMMAND: 'ADD',
        CNI_CONTAINERID: randomBytes(32).toString('hex'),
        CNI_NETNS: '/proc/self/ns/net',
        CNI_IFNAME: 'eth0',
        CNI_PATH: '/usr/lib/cni',
      },
    })
  }
}

const hostPorts = (): string[] =>
  execFileSync('iptables-save', ['-t', 'nat'], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes('CNI-'))

const needsNode = test.skipIf(missingForContainerd(process.env).length > 0)

needsNode(
  'removes the host ports of a killed node, those of no other node, and the chains of both with the last of them',
  async () => {
    const before = hostPorts()
    const [killed, other] = [randomBytes(4).toString('hex'), randomBytes(4).toString('hex')]
    const nodeDir = mkdtempSync(join(tmpdir(), 'orrery-node-'))
    openHostPort(other, 1)
    const ofOther = hostPorts()
    expect(ofOther.join('\n')).toContain(`name: \\"${placesOf(other).network}\\"`)
    openHostPort(killed, 2)
    openHostPort(killed, 3)
    expect(hostPorts().length).toBeGreaterThan(ofOther.length)
    await removeLeftovers(killed, nodeDir)
    expect(hostPorts()).toEqual(ofOther)
    await removeLeftovers(other, nodeDir)
    expect(hostPorts()).toEqual(before)
    rmSync(nodeDir, { recursive: true })
  },
)

needsNode(
  'removes the mounts and network namespaces of a killed node and their records, and those of no other node',
  async () => {
    const [killed, other] = [randomBytes(4).toString('hex'), randomBytes(4).toString('hex')]
    const [gone, kept] = [leaveSandbox(killed), leaveSandbox(other)]
    const nodeDir = mkdtempSync(join(tmpdir(), 'orrery-node-'))
    const mounted = join(nodeDir, 'containerd', 'tmpmounts', 'containerd-mount1')
    mkdirSync(mounted, { recursive: true })
    execFileSync('mount', ['-t', 'tmpfs', killed, mounted])
    await removeLeftovers(killed, nodeDir)
    expect(existsSync(mounted)).toBe(true)
    rmSync(nodeDir, { recursive: true })
    expect([placesOf(killed).runDir, gone.record].filter(existsSync)).toEqual([])
    expect([kept.namespace, kept.record].filter(existsSync)).toHaveLength(2)
    await removeLeftovers(other, nodeDir)
    expect(existsSync(kept.record)).toBe(false)
    expect(readFileSync('/proc/mounts', 'utf8')).not.toMatch(new RegExp(`${killed}|${other}`))
  },
)
