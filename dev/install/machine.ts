import { execFile } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { idOf } from '#dev/cluster/id.ts'
import { startCluster } from '#dev/cluster/index.ts'
import { obtainGoProgram } from '#dev/goPrograms.ts'
import { importImage } from '#dev/node/containerd.ts'
import { placesOf } from '#dev/node/leftovers.ts'
import { findServicePrograms } from '#dev/node/services.ts'
import { apiRoleUrl, createDatabase, startPostgres } from '#dev/postgres.ts'
import { startObjectServer } from '#dev/s3/versitygw.ts'
import { forwardPort } from './forward.ts'

/** The namespace of the release. */
export const namespace = 'orrery'
const bucket = 'orrery'
/** The account of the product's containers. */
const nonRoot = 65_532

/**
 * Starts what a platform team has before it installs Orrery: a cluster with a real node, Postgres, an S3 server, and the
 * commands kubectl and helm. `stop` ends all of it.
 */
export const startMachine = async (progress: (line: string) => void) => {
  const stateDir = mkdtempSync(join(tmpdir(), 'orrery-install-'))
  const logDir = process.env.ORRERY_TEST_LOG_DIR ?? join(stateDir, 'logs')
  mkdirSync(logDir, { recursive: true })
  const parts: { stop(): Promise<void> }[] = []
  const stop = async (): Promise<void> => {
    for (const part of parts.splice(0).reverse()) await part.stop()
  }
  try {
    if ((await findServicePrograms({ env: process.env, progress })) === undefined) {
      throw new Error('The install test needs the addresses and names of services.')
    }
    const env = { ...process.env, KUBECONFIG: '' }
    const cluster = await startCluster({ stateDir, logDir, parts, progress, node: 'containerd', env })
    const helm = await obtainGoProgram('helm', { env: process.env, progress })
    const PATH = [dirname(cluster.kubectl), dirname(helm), process.env.PATH].join(delimiter)
    const commandEnv = { ...process.env, PATH, KUBECONFIG: cluster.kubeconfig }
    // Not synchronous: this process forwards connections to the servers of the machine.
    const run = async (command: string, args: readonly string[], timeoutMs = 300_000): Promise<string> =>
      (await promisify(execFile)(command, args, { env: commandEnv, timeout: timeoutMs, maxBuffer: 2 ** 28 })).stdout
    return {
      stateDir,
      logDir,
      cluster,
      parts,
      kubectl: (...args: string[]): Promise<string> => run('kubectl', args),
      helm: (...args: string[]): Promise<string> => run('helm', [...args, '--namespace', namespace]),
      /** Runs a script of the documentation. */
      bash: (script: string, variables: Readonly<Record<string, string>> = {}): Promise<string> =>
        run('env', [
          ...Object.entries(variables).map((each) => each.join('=')),
          'bash',
          '--norc',
          '-euo',
          'pipefail',
          '-c',
          script,
        ]),
      importImage: (image: Parameters<typeof importImage>[1]): Promise<void> =>
        importImage(placesOf(idOf(stateDir)).runDir, image),
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** A machine on which the install test runs. */
export type Machine = Awaited<ReturnType<typeof startMachine>>

/** Starts the database of a production installation. Returns the URLs that pods use: that of the API's role, and the owner's. */
export const startProductionDatabase = async ({ stateDir, logDir, cluster, parts }: Machine) => {
  const postgres = await startPostgres({
    dir: join(stateDir, 'postgres'),
    logDir,
    durable: false,
    progress: () => undefined,
  })
  parts.push(postgres)
  await createDatabase(postgres.adminUrl, 'orrery')
  const owner = new URL(postgres.url('orrery'))
  const forward = await forwardPort(cluster.hostAddress, Number(owner.port))
  parts.push(forward)
  owner.host = `${cluster.hostAddress}:${forward.port}`
  return { localUrl: postgres.url('orrery'), ownerUrl: owner.href, apiUrl: apiRoleUrl(owner.href) }
}

/** Starts the object store of a production installation, with a bucket. */
export const startProductionObjectStore = async ({ stateDir, logDir, cluster, parts }: Machine) => {
  const server = await startObjectServer({
    dir: join(stateDir, 's3'),
    logDir,
    env: process.env,
    progress: () => undefined,
  })
  parts.push(server)
  const credentials = { accessKeyId: server.accessKeyId, secretAccessKey: server.secretAccessKey }
  const client = new S3Client({ endpoint: server.endpoint, region: 'us-east-1', forcePathStyle: true, credentials })
  await client.send(new CreateBucketCommand({ Bucket: bucket }))
  client.destroy()
  const forward = await forwardPort(cluster.hostAddress, Number(new URL(server.endpoint).port))
  parts.push(forward)
  return { bucket, endpoint: `http://${cluster.hostAddress}:${forward.port}`, credentials }
}

/** Makes empty volumes on this machine, as a StorageClass would. They fit any claim, and take the files of the product. */
export const makeVolumes = async ({ stateDir, kubectl }: Machine, count: number): Promise<void> => {
  const folder = join(stateDir, 'volumes')
  const volumes = Array.from({ length: count }, (_, index) => {
    const path = join(folder, String(index))
    rmSync(path, { recursive: true, force: true })
    mkdirSync(path, { recursive: true })
    chownSync(path, nonRoot, nonRoot)
    chmodSync(path, 0o770)
    return {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: `local-${index}` },
      spec: { capacity: { storage: '20Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path } },
    }
  })
  const file = join(stateDir, 'volumes.json')
  writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: volumes }))
  await kubectl('apply', '-f', file)
}

/** Removes the files of a machine. */
export const forgetMachine = ({ stateDir }: Machine): void => rmSync(stateDir, { recursive: true, force: true })
