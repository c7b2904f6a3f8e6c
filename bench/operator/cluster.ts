import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startCluster } from '#dev/clusters/index.ts'
import { installManifests } from '#dev/kubernetes/manifests.ts'
import { nodeFlags } from '#dev/nodeFlags.ts'
import { freePort } from '#dev/ports.ts'
import { startService } from '#dev/process.ts'
import { loadCredentials } from '#shared/kube/config.ts'
import { createTransport } from '#shared/kube/transport.ts'

export type BenchCluster = Awaited<ReturnType<typeof openCluster>>
export type Operator = Awaited<ReturnType<BenchCluster['startOperator']>>

/** Reads from an operator's metrics what it has used and sent since its start. */
export type Usage = {
  readonly cpuSeconds: number
  readonly rssMiB: number
  /** Requests that change something, without those of the lease and of events. */
  readonly writes: number
  readonly events: number
  readonly leaseWrites: number
  /** Keys that wait for a worker. */
  readonly waiting: number
}

/** A control plane with a simulated node, and operators on demand; no api and no database. */
export const openCluster = async (progress: (line: string) => void) => {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-bench-operator-'))
  const logDir = join(dir, 'logs')
  const parts: { stop(): Promise<void> }[] = []
  const stop = async (): Promise<void> => {
    for (const part of parts.splice(0).reverse()) await part.stop()
    rmSync(dir, { recursive: true, force: true })
  }
  try {
    const env = { ...process.env, KUBECONFIG: '' }
    const cluster = await startCluster({ stateDir: dir, logDir, node: 'kwok', env, progress, parts })
    await installManifests(cluster)
    const transport = createTransport({
      credentials: loadCredentials({ KUBECONFIG: cluster.kubeconfig }),
      userAgent: 'orrery-bench',
    })
    parts.push({ stop: () => transport.close() })
    const startOperator = async (identity: string) => {
      const port = await freePort()
      const url = `http://127.0.0.1:${port}`
      const service = await startService({
        name: 'operator',
        command: process.execPath,
        // Bundled, as it is deployed; with the flag of `npm start`.
        args: [...nodeFlags, 'dist/operator.mjs'],
        logFile: join(logDir, `operator-${identity}.log`),
        env: {
          KUBECONFIG: cluster.operatorKubeconfig,
          ORRERY_LOG_LEVEL: 'warn',
          ORRERY_METRICS_PORT: String(port),
          ORRERY_DEFAULT_SERVER_IMAGE: cluster.serverImage,
          ORRERY_DEFAULT_BOT_IMAGE: cluster.botImage,
          ORRERY_PUBLIC_URL: 'http://api.example:8080',
          ORRERY_MEMORY_REQUEST_RATIO: '0.02',
          ORRERY_CPU_REQUEST_RATIO: '0.02',
          ORRERY_LEASE_IDENTITY: identity,
        },
        ready: async (signal) => (await fetch(`${url}/readyz`, { signal })).ok,
        readyTimeoutMs: 120_000,
      })
      parts.push(service)
      return { ...service, identity, usage: () => readUsage(`${url}/metrics`) }
    }
    return { transport, startOperator, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

const readUsage = async (url: string): Promise<Usage> => {
  const text = await (await fetch(url)).text()
  const sum = (pattern: RegExp): number =>
    [...text.matchAll(pattern)].reduce((all, [, value]) => all + Number(value), 0)
  const requests = (method: string): number =>
    sum(new RegExp(`^rest_client_requests_total\\{code="2..",method="${method}",.*\\} (\\S+)$`, 'gm'))
  const events = sum(/^events_written_total (\S+)$/gm)
  return {
    cpuSeconds: sum(/^process_cpu_seconds_total (\S+)$/gm),
    rssMiB: Math.round(sum(/^process_resident_memory_bytes (\S+)$/gm) / 2 ** 20),
    writes: requests('POST') + requests('PATCH') + requests('DELETE') - events,
    events,
    // Nothing else is written by PUT.
    leaseWrites: requests('PUT'),
    waiting: sum(/^workqueue_depth\{.*\} (\S+)$/gm),
  }
}
