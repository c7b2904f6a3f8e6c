import type { StackInfo } from '#dev/stack.ts'
import { loadCredentials } from '#shared/kube/config.ts'
import { createTransport } from '#shared/kube/transport.ts'
import { worldResource } from '#shared/resources/group.ts'
import type { Row } from './report.ts'
import { watchReady } from './watch.ts'

/** Starts worlds over REST, all at once, and times the answer, the pod and the phase Active of each. */
export const startWorlds = async (stack: StackInfo, count: number): Promise<Row[]> => {
  const scope: Record<string, string> = {}
  const call = async (path: string, body?: object): Promise<Record<string, string>> => {
    const answer = await fetch(`${stack.apiUrl}${path}`, {
      method: 'POST',
      headers: { 'x-api-key': stack.rootApiKey, ...scope, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`POST ${path}: ${answer.status} ${text}`)
    return text === '' ? {} : JSON.parse(text)
  }
  scope['x-svc-organization-id'] = (await call('/api/organizations/', { name: 'Bench' })).organizationId ?? ''
  scope['x-svc-project-id'] = (await call('/api/organizations/projects/', { name: 'Bench' })).projectId ?? ''
  const ids: string[] = []
  for (let made = 0; made < count; made += 1) {
    ids.push((await call('/api/worlds/', { name: `World ${made}`, transient: false })).worldId ?? '')
  }

  const transport = createTransport({
    credentials: loadCredentials({ KUBECONFIG: stack.kubeconfig }),
    userAgent: 'orrery-bench',
  })
  const podResource = { group: '', version: 'v1', plural: 'pods', kind: 'Pod' }
  const [pods, worlds] = await Promise.all([
    watchReady(transport, podResource, ids),
    watchReady(transport, worldResource, ids),
  ])
  const before = await usage(stack)
  const asked = new Map<string, number>()
  const answered = await Promise.all(
    ids.map(async (id) => {
      asked.set(id, performance.now())
      await call(`/api/worlds/${id}/start/`)
      return performance.now() - (asked.get(id) ?? 0)
    }),
  )
  const active = await worlds.all()
  await pods.all()
  const after = await usage(stack)
  await transport.close()
  const since = (times: Map<string, number>): number[] => ids.map((id) => (times.get(id) ?? 0) - (asked.get(id) ?? 0))
  return [
    { what: 'worlds: start → answer', timesMs: answered },
    { what: 'worlds: start → pod made', timesMs: since(pods.made) },
    { what: 'worlds: start → Active', timesMs: since(active), usage: describe(before, after) },
  ]
}

type Usage = { cpuSeconds: number; rssMiB: number }

/** Reads from their metrics what the operator and the api have used so far. */
const usage = async ({ metricsUrls }: StackInfo): Promise<Record<'api' | 'operator', Usage>> => {
  const read = async (url: string): Promise<Usage> => {
    const text = await (await fetch(url)).text()
    const value = (name: string): number => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1] ?? 0)
    return {
      cpuSeconds: value('process_cpu_seconds_total'),
      rssMiB: Math.round(value('process_resident_memory_bytes') / 2 ** 20),
    }
  }
  return { api: await read(metricsUrls.api), operator: await read(metricsUrls.operator) }
}

const describe = (before: Awaited<ReturnType<typeof usage>>, after: typeof before): string =>
  (['api', 'operator'] as const)
    .map((name) => {
      const cpu = after[name].cpuSeconds - before[name].cpuSeconds
      return `${name} ${cpu.toFixed(2)} CPU s, ${after[name].rssMiB} MiB`
    })
    .join('; ')
