import { createClient } from '#client/client.ts'
import { readMetrics, rootApiKey } from '../api.ts'
import type { Operator } from '../operator/cluster.ts'
import { readServerMetrics, sumMetric } from '../serverMetrics.ts'
import type { Edit } from './fill.ts'
import type { Parts } from './sizes.ts'

const pollMs = 50
const limitMs = 300_000

const delay = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Returns the CPU that each process uses while nothing changes, in percent of a core. */
export const measureIdle = async ({ api, operator, cluster }: Parts, seconds: number): Promise<string> => {
  const read = async () => [
    (await readMetrics(api.metricsUrl))('process_cpu_seconds_total'),
    (await operator.usage()).cpuSeconds,
    sumMetric(await readServerMetrics(cluster.transport), 'process_cpu_seconds_total'),
  ]
  const start = await read()
  await delay(seconds * 1_000)
  const end = await read()
  return end.map((value, at) => `${(((value - (start[at] ?? 0)) / seconds) * 100).toFixed(1)} %`).join(', ')
}

/** Lists all worlds with the platform key: all pages of each organization. Returns the milliseconds of each list. */
export const measureLists = async ({ api }: Parts): Promise<[string, number][]> => {
  const platform = createClient({ baseUrl: api.url, apiKey: rootApiKey })
  const startedMs = performance.now()
  const organizations: string[] = []
  for await (const page of platform.pages('listOrganizations')) {
    organizations.push(...page.map(({ documentId }) => documentId))
  }
  const listedMs = performance.now()
  let worlds = 0
  for (const organizationId of organizations) {
    for await (const page of platform.in({ organizationId }).pages('listWorlds')) worlds += page.length
  }
  return [
    [`list of ${organizations.length} organizations`, listedMs - startedMs],
    [`list of ${worlds} worlds, organization by organization`, performance.now() - listedMs],
  ]
}

/** Waits until REST shows the edit. */
export const measurePull = async (
  { api }: Parts,
  { organizationId, projectId, worldId, name }: Edit,
): Promise<void> => {
  const client = createClient({ baseUrl: api.url, apiKey: rootApiKey }).in({ organizationId, projectId })
  const deadlineMs = performance.now() + limitMs
  while ((await client.getWorld({ params: { worldId } })).name !== name) {
    if (performance.now() > deadlineMs) throw new Error(`The edit was not in REST after ${limitMs} ms.`)
    await delay(pollMs)
  }
}

/** Restarts the operator. Returns it, and the milliseconds until it is ready and until no key waits for a worker. */
export const measureOperatorRestart = async ({
  operator,
  cluster,
}: Parts): Promise<{ operator: Operator; times: number[] }> => {
  await operator.stop()
  const startedMs = performance.now()
  const again = await cluster.startOperator('scale')
  const readyMs = performance.now() - startedMs
  for (;;) {
    const { waiting } = await again.usage()
    if (waiting === 0) break
    await delay(pollMs)
  }
  return { operator: again, times: [readyMs, performance.now() - startedMs] }
}
