import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
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

test.skipIf(missingForContainerd(process.env).length > 0)(
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
