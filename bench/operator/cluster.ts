import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startCluster } from '#dev/cluster/index.ts'
import type { ClientLimits } from '#dev/kubernetes/controlPlane.ts'
import { installManifests } from '#dev/kubernetes/manifests.ts'
import { operatorMalloc, operatorNodeFlags } from '#dev/nodeFlags.ts'
import { freePort } from '#dev/ports.ts'
import { startService } from '#dev/process.ts'
import { loadCredentials } from '#shared/kube/config.ts'
import { createTransport } from '#shared/kube/transport.ts'
import { withDefined } from '#shared/optional.ts'
import { accountKubeconfig, createAccount, operatorAccount, userOf } from '../account.ts'

export type BenchCluster = Awaited<ReturnType<typeof openCluster>>
export type Operator = Awaited<ReturnType<BenchCluster['startOperator']>>

/** The resources that an operator has used and the requests that it has sent since its start, from its metrics. */
export type Usage = {
  readonly cpuSeconds: number
  readonly rssMiB: number
  /** Write requests, except those for the lease and for events. */
  readonly writes: number
  /** Write requests by method. Events are POST requests, and PATCH requests for repeated ones. */
  readonly posts: number
  readonly patches: number
  readonly deletes: number
  /** Reads, also those that found nothing. */
  readonly gets: number
  readonly events: number
  readonly leaseWrites: number
  /** Keys that wait for a worker. */
  readonly waiting: number
}

/** Starts a control plane with a simulated node and no API or database. Operators are started on demand. */
export const openCluster = async (
  progress: (line: string) => void,
  clientLimits: ClientLimits = 'default',
  podCidr?: string,
) => {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-bench-operator-'))
  const logDir = join(dir, 'logs')
  const parts: { stop(): Promise<void> }[] = []
  const stop = async (): Promise<void> => {
    for (const part of parts.splice(0).reverse()) await part.stop()
    rmSync(dir, { recursive: true, force: true })
  }
  try {
    const env = { ...process.env, KUBECONFIG: '' }
    const options = { stateDir: dir, logDir, node: 'kwok', env, progress, parts, clientLimits } as const
    const cluster = await startCluster({ ...options, ...withDefined({ podCidr }) })
    const { apiKubeconfig, kubeconfig, kubectl } = cluster
    await installManifests({ kubeconfig, parameters: { operatorUser: userOf(operatorAccount) } })
    await createAccount({ kubectl, kubeconfig, dir }, operatorAccount)
    const operatorKubeconfig = await accountKubeconfig({ kubectl, kubeconfig, dir }, operatorAccount)
    const transport = createTransport({
      credentials: loadCredentials({ KUBECONFIG: kubeconfig }),
      userAgent: 'orrery-bench',
    })
    parts.push({ stop: () => transport.close() })
    const nodeFlags = process.env.ORRERY_BENCH_NODE_FLAGS?.split(' ') ?? operatorNodeFlags
    const startOperator = async (identity: string, settings: Record<string, string> = {}) => {
      const port = await freePort()
      const url = `http://127.0.0.1:${port}`
      const service = await startService({
        name: 'operator',
        command: process.execPath,
        // The bundle, as it is deployed, by default with the flags and the allocator of `npm start`.
        args: [...nodeFlags, 'dist/operator.mjs'],
        logFile: join(logDir, `operator-${identity}.log`),
        env: {
          ...operatorMalloc,
          KUBECONFIG: operatorKubeconfig,
          ORRERY_LOG_LEVEL: 'warn',
          ORRERY_METRICS_PORT: String(port),
          ORRERY_DEFAULT_SERVER_IMAGE: cluster.serverImage,
          ORRERY_DEFAULT_BOT_IMAGE: cluster.botImage,
          ORRERY_PUBLIC_URL: 'http://api.example:8080',
          ORRERY_MEMORY_REQUEST_RATIO: '0.02',
          ORRERY_CPU_REQUEST_RATIO: '0.02',
          ORRERY_LEASE_IDENTITY: identity,
          ...settings,
        },
        ready: async (signal) => (await fetch(`${url}/readyz`, { signal })).ok,
        readyTimeoutMs: 120_000,
      })
      parts.push(service)
      return { ...service, identity, usage: () => readUsage(`${url}/metrics`) }
    }
    return { transport, startOperator, apiKubeconfig, operatorKubeconfig, kubeconfig, kubectl, dir, logDir, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

const readUsage = async (url: string): Promise<Usage> => {
  const text = await (await fetch(url)).text()
  const sum = (pattern: RegExp): number =>
    [...text.matchAll(pattern)].reduce((all, [, value]) => all + Number(value), 0)
  const requests = (method: string, code = '2..'): number =>
    sum(new RegExp(`^rest_client_requests_total\\{code="${code}",method="${method}",.*\\} (\\S+)$`, 'gm'))
  const events = sum(/^events_written_total (\S+)$/gm)
  const [posts, patches, deletes] = [requests('POST'), requests('PATCH'), requests('DELETE')]
  return {
    cpuSeconds: sum(/^process_cpu_seconds_total (\S+)$/gm),
    rssMiB: Math.round(sum(/^process_resident_memory_bytes (\S+)$/gm) / 2 ** 20),
    writes: posts + patches + deletes - events,
    posts,
    patches,
    deletes,
    gets: requests('GET', '...'),
    events,
    // Only the lease is written with PUT.
    leaseWrites: requests('PUT'),
    waiting: sum(/^workqueue_depth\{.*\} (\S+)$/gm),
  }
}
