import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { TestProject } from 'vitest/node'
import { buildConsole, consoleFolder } from '#dev/console/build.ts'
import { bundleProduct } from '#dev/images/bundle.ts'
import { resolveBinaries } from '#dev/kubernetes/binaries.ts'
import { startControlPlane } from '#dev/kubernetes/controlPlane.ts'
import { installManifests } from '#dev/kubernetes/manifests.ts'
import { forgetPostgres, startPostgres } from '#dev/postgres.ts'
import { namespacePrefixes } from './namespacePrefixes.ts'
import type { Servers } from './servers.ts'

type Part = { stop(): Promise<void> }
type Binaries = Record<'etcd' | 'kube-apiserver' | 'kubectl', string>

const progress = (line: string): void => void process.stderr.write(`[setup] ${line}\n`)

/**
 * Gives each test worker a real Postgres and a real kube-apiserver of its own, started when the worker's first file needs
 * them. Files of one worker run in turn and share them; each test makes its own database.
 */
export default async (project: TestProject): Promise<() => Promise<void>> => {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-test-'))
  const programs = process.env.ORRERY_TEST_SOURCE === undefined ? await bundlePrograms() : undefined
  if (programs === undefined) await buildConsole(consoleFolder)
  const binaries = await resolveBinaries(['etcd', 'kube-apiserver', 'kubectl'], { env: process.env, progress })
  const parts: Part[] = []
  const workers = new Map<string, Promise<Servers>>()
  const start = (worker: string): Promise<Servers> => {
    const starting =
      workers.get(worker) ?? startServers(join(dir, worker), { worker, binaries, parts, programDir: programs })
    workers.set(worker, starting)
    // The next file tries again.
    starting.catch(() => workers.delete(worker))
    return starting
  }
  const server = createServer((request, response) => {
    start(request.url?.slice(1) ?? '').then(
      (servers) => response.end(JSON.stringify(servers)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  project.provide('serversUrl', `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  return async () => {
    server.close()
    await Promise.allSettled(workers.values())
    await Promise.all(parts.map((part) => part.stop()))
    for (const worker of workers.keys()) forgetPostgres(join(dir, worker, 'postgres'))
    rmSync(dir, { recursive: true, force: true })
    if (programs !== undefined) rmSync(programs, { recursive: true, force: true })
  }
}

/**
 * Bundles the programs as the image has them. A bundle starts in a fifth of the CPU time of the sources, and the tests start
 * hundreds of processes. The folder is inside the project, where the bundle finds its packages.
 */
const bundlePrograms = async (): Promise<string> => {
  const cache = fileURLToPath(new URL('../../node_modules/.cache/', import.meta.url))
  mkdirSync(cache, { recursive: true })
  const dir = mkdtempSync(join(cache, 'orrery-test-'))
  await bundleProduct(dir)
  return dir
}

const startServers = async (
  dir: string,
  {
    worker,
    binaries,
    parts,
    programDir,
  }: Pick<Servers, 'programDir'> & {
    worker: string
    binaries: Binaries
    parts: Part[]
  },
): Promise<Servers> => {
  const logDir = process.env.ORRERY_TEST_LOG_DIR ?? join(dir, 'logs')
  const options = { logDir: join(logDir, `worker-${worker}`), durable: false, progress }
  const image = process.env.ORRERY_TEST_POSTGRES_IMAGE
  const postgres = image
    ? await (await import('./containers.ts')).startPostgresContainer(image)
    : await startPostgres({ ...options, dir: join(dir, 'postgres') })
  parts.push(postgres)
  const controlPlane = await startControlPlane({ ...options, dir: join(dir, 'kubernetes'), binaries })
  parts.push(controlPlane)
  await installManifests({
    kubeconfig: controlPlane.adminKubeconfig,
    parameters: { namespacePrefix: namespacePrefixes },
  })
  return {
    postgresAdminUrl: postgres.adminUrl,
    kubectl: binaries.kubectl,
    adminKubeconfig: controlPlane.adminKubeconfig,
    apiKubeconfig: await controlPlane.kubeconfig({ user: 'orrery-api' }),
    operatorKubeconfig: await controlPlane.kubeconfig({ user: 'orrery-operator' }),
    logDir,
    programDir,
  }
}
