import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { resolveBinaries } from '#dev/kubernetes/binaries.ts'
import { startControlPlane } from '#dev/kubernetes/controlPlane.ts'
import { installManifests } from '#dev/kubernetes/manifests.ts'
import { namespacePrefixes } from './namespacePrefixes.ts'
import { getServers } from './servers.ts'

/** Starts a second control plane with the definitions, roles and policies, beside that of this worker. */
export const startAnotherCluster = async () => {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-another-'))
  const progress = (): void => undefined
  const binaries = await resolveBinaries(['etcd', 'kube-apiserver'], { env: process.env, progress })
  const { kubectl } = getServers()
  const logDir = join(getServers().logDir, 'another')
  mkdirSync(logDir, { recursive: true })
  const plane = await startControlPlane({ dir, logDir, binaries, durable: false, progress })
  await installManifests({ kubeconfig: plane.adminKubeconfig, parameters: { namespacePrefix: namespacePrefixes } })
  const backup = join(dir, 'backup')
  const copy = (from: string, to: string): void => {
    rmSync(to, { recursive: true, force: true })
    cpSync(from, to, { recursive: true })
  }
  return {
    kubectl,
    /** Copies the data of etcd. The API server is gone for some seconds. */
    backUp: () => plane.restartWithData((data) => copy(data, backup)),
    /** Restores the data of the backup. */
    restore: () => plane.restartWithData((data) => copy(backup, data)),
    adminKubeconfig: plane.adminKubeconfig,
    apiKubeconfig: await plane.kubeconfig({ user: 'orrery-api' }),
    operatorKubeconfig: await plane.kubeconfig({ user: 'orrery-operator' }),
    stop: async (): Promise<void> => {
      await plane.stop()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}
