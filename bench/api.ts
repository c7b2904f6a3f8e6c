import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { nodeFlags } from '#dev/nodeFlags.ts'
import { freePort } from '#dev/ports.ts'
import { type Service, startService } from '#dev/process.ts'
import { operatorAccount, userOf } from './account.ts'

/** A server that is measured. */
export type Target = { service: Service; url: string; metricsUrl: string }

/** The platform key of every API that is measured. */
export const rootApiKey = 'bench-platform-key-of-the-run'

/**
 * Starts the API bundle that ships, with limits that no load reaches, and without a cluster unless a kubeconfig is given. With
 * ORRERY_BENCH_PROFILE=folder, the process writes a CPU profile to that folder.
 */
export const startApi = async (dir: string, databaseUrl: string, kubeconfig?: string): Promise<Target> => {
  const [port, metricsPort] = [await freePort(), await freePort()]
  const url = `http://127.0.0.1:${port}`
  const { ORRERY_BENCH_PROFILE: profile } = process.env
  const service = await startService({
    name: 'api',
    command: process.execPath,
    args: [...nodeFlags, ...(profile === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', profile]), 'dist/api.mjs'],
    logFile: join(dir, 'api.log'),
    ready: async (signal) => (await fetch(`${url}/readyz`, { signal })).ok,
    readyTimeoutMs: 30_000,
    env: {
      KUBECONFIG: kubeconfig ?? noCluster(dir),
      ORRERY_OPERATOR_USER: userOf(operatorAccount),
      // Without a cluster, pushes soon back off so far that they do not affect the measurement.
      ...(kubeconfig === undefined ? { ORRERY_PUSH_BACKOFF_MAX_MS: '3600000' } : {}),
      ORRERY_PORT: String(port),
      ORRERY_METRICS_PORT: String(metricsPort),
      ORRERY_DATABASE_URL: databaseUrl,
      ORRERY_DATABASE_OWNER_URL: databaseUrl,
      ORRERY_ROOT_API_KEY: rootApiKey,
      ORRERY_PUBLIC_URL: url,
      ORRERY_KEY_PEPPER: 'bench-pepper-of-at-least-32-bytes-',
      ORRERY_KEY_ENCRYPTION_KEYS: `bench:${Buffer.alloc(32, 7).toString('base64')}`,
      ORRERY_OBJECT_STORE_URL: pathToFileURL(join(dir, 'objects')).href,
      ORRERY_LIMIT_MAX_WORLDS: '1000000',
      ORRERY_LIMIT_REQUESTS_PER_SECOND: '1000000',
      ORRERY_LIMIT_REQUEST_BURST: '1000000',
      // Each world is started once a round. At this rate the recorded starts are still read.
      ORRERY_LIMIT_STARTS_PER_MINUTE: '500',
    },
  })
  return { service, url, metricsUrl: `http://127.0.0.1:${metricsPort}/metrics` }
}

/** Returns the values of metrics without labels by name; 0 for a missing metric. */
export const readMetrics = async (metricsUrl: string): Promise<(name: string) => number> => {
  const text = await (await fetch(metricsUrl)).text()
  return (name) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? 0)
}

/** Writes a kubeconfig of an unreachable cluster: nothing listens on the port of tcpmux. */
const noCluster = (dir: string): string => {
  const file = join(dir, 'kubeconfig')
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'away',
    contexts: [{ name: 'away', context: { cluster: 'away', user: 'away' } }],
    clusters: [{ name: 'away', cluster: { server: 'http://127.0.0.1:1' } }],
    users: [{ name: 'away', user: {} }],
  }
  writeFileSync(file, JSON.stringify(config))
  return file
}
