import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cacheDir, resolveBinaries } from '#dev/kubernetes/binaries.ts'
import { startControlPlane } from '#dev/kubernetes/controlPlane.ts'
import { startNode } from '#dev/node/index.ts'
import { patience } from './wait.ts'

/** Starts a cluster that does not belong to the stack: a control plane and a simulated node. */
export const startOutsideCluster = async () => {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-outside-'))
  const logDir = join(dir, 'logs')
  const progress = (): void => undefined
  const names = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubectl', 'kwok'] as const
  const binaries = await resolveBinaries(names, { env: process.env, progress })
  const parts: { stop(): Promise<void> }[] = []
  const stop = async (): Promise<void> => {
    for (const part of parts.splice(0).reverse()) await part.stop()
    rmSync(dir, { recursive: true, force: true })
  }
  try {
    const options = { dir: join(dir, 'kubernetes'), logDir, binaries, durable: false, progress }
    const controlPlane = await startControlPlane(options)
    parts.push(controlPlane)
    const nodeDir = join(dir, 'node')
    mkdirSync(nodeDir)
    const places = { dir: nodeDir, logDir, cacheDir: cacheDir(process.env) }
    const program = { program: binaries.kwok, kubectl: binaries.kubectl }
    const node = await startNode('kwok', {
      id: '0075de00',
      ...places,
      ...program,
      controlPlane,
      env: process.env,
      progress,
    })
    parts.push(node)
    const kubeconfig = controlPlane.adminKubeconfig
    return {
      kubeconfig,
      kubectl: (...args: string[]): string =>
        execFileSync(binaries.kubectl, ['--kubeconfig', kubeconfig, ...args], {
          encoding: 'utf8',
          timeout: 30_000 * patience,
        }),
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}
