import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { resolveBinaries } from '#dev/kubernetes/binaries.ts'
import { startControlPlane } from '#dev/kubernetes/controlPlane.ts'
import { installManifests } from '#dev/kubernetes/manifests.ts'
import { forgetPostgres, startPostgres } from '#dev/postgres.ts'

declare module 'vitest' {
  interface ProvidedContext {
    postgresAdminUrl: string
    kubectl: string
    adminKubeconfig: string
    apiKubeconfig: string
    operatorKubeconfig: string
    logDir: string
  }
}

/** One Postgres and one kube-apiserver, both real, for all integration tests; each test makes its own database. */
export default async (project: TestProject): Promise<() => Promise<void>> => {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-test-'))
  const parts: { stop(): Promise<void> }[] = []
  const tearDown = async (): Promise<void> => {
    for (const part of parts.splice(0).reverse()) await part.stop()
    forgetPostgres(join(dir, 'postgres'))
    rmSync(dir, { recursive: true, force: true })
  }
  try {
    await setUp(project, dir, parts)
  } catch (error) {
    await tearDown()
    throw error
  }
  return tearDown
}

const setUp = async (project: TestProject, dir: string, parts: { stop(): Promise<void> }[]): Promise<void> => {
  const logDir = process.env.ORRERY_TEST_LOG_DIR ?? join(dir, 'logs')
  const progress = (line: string): void => void process.stderr.write(`[setup] ${line}\n`)
  const binaries = await resolveBinaries(['etcd', 'kube-apiserver', 'kubectl'], { env: process.env, progress })
  const postgres = await startPostgres({ dir: join(dir, 'postgres'), logDir, durable: false, progress })
  parts.push(postgres)
  const controlPlane = await startControlPlane({
    dir: join(dir, 'kubernetes'),
    logDir,
    binaries,
    durable: false,
    progress,
  })
  parts.push(controlPlane)
  await installManifests({
    kubeconfig: controlPlane.adminKubeconfig,
    parameters: { namespacePrefix: '(orrery|fuzz|crash-api-[0-9]+)' },
  })
  project.provide('postgresAdminUrl', postgres.adminUrl)
  project.provide('kubectl', binaries.kubectl)
  project.provide('adminKubeconfig', controlPlane.adminKubeconfig)
  project.provide('apiKubeconfig', await controlPlane.kubeconfig({ user: 'orrery-api' }))
  project.provide('operatorKubeconfig', await controlPlane.kubeconfig({ user: 'orrery-operator' }))
  project.provide('logDir', logDir)
}
