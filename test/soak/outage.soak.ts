import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readDirtyRows } from '#api/domain/clusters/status.ts'
import { openDatabase } from '#api/platform/database/client.ts'
import { loadCredentials } from '#shared/kube/config.ts'
import { createTransport } from '#shared/kube/transport.ts'
import { labels } from '#shared/resources/group.ts'
import { startSimulator } from '#test/crash/simulator.ts'
import { readDifferences } from '#test/support/differences.ts'
import { createGate } from '#test/support/gate.ts'
import { aDatabase, startApi, startOperator } from '#test/support/processes.ts'
import { createRest, inNewProject } from '#test/support/rest.ts'
import { drawSeed } from '#test/support/seed.ts'
import { getServers } from '#test/support/servers.ts'
import { eventually } from '#test/support/wait.ts'
import { seeded } from '#test/support/writers.ts'

const minutes = Number(process.env.ORRERY_OUTAGE_MINUTES ?? 10)
const seed = drawSeed('ORRERY_SOAK_SEED')
/** The goal for the time until everything is drained. The test prints the measured time, and fails only much later. */
const goalSeconds = 60
const endMs = { timeoutMs: 300_000 }
const worldCount = 40
const maxWorlds = 400
const writersPerReplica = 2
const longestPauseMs = 300

type Rest = Awaited<ReturnType<typeof inNewProject>>
type Harness = Awaited<ReturnType<typeof startHarness>>
let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness?.stop())

/** Starts two replicas of the API and of the operator behind gates, with the delays that they have in production. */
const startHarness = async () => {
  const { apiKubeconfig, operatorKubeconfig, adminKubeconfig } = getServers()
  const gates = [await createGate(apiKubeconfig), await createGate(operatorKubeconfig)] as const
  const databaseUrl = await aDatabase()
  const database = openDatabase({ url: databaseUrl, poolSize: 2 })
  const credentials = loadCredentials({ KUBECONFIG: adminKubeconfig })
  const transport = createTransport({ credentials, userAgent: 'orrery-outage' })
  const simulator = startSimulator({ labelSelector: '', releases: false })
  const settings = {
    ORRERY_PUSH_BACKOFF_MAX_MS: '30000',
    ORRERY_LIMIT_REQUESTS_PER_SECOND: '10000',
    ORRERY_LIMIT_STARTS_PER_MINUTE: '10000',
  }
  const apis = await Promise.all([1, 2].map(() => startApi({ databaseUrl, kubeconfig: gates[0].kubeconfig, settings })))
  const operators = [1, 2].map((number) => superviseOperator(gates[1].kubeconfig, `replica-${number}`))
  return {
    url: apis[0]?.url ?? '',
    apis,
    operators,
    gates,
    db: database.db,
    databaseUrl,
    transport,
    simulator,
    stop: async () => {
      for (const gate of gates) gate.open()
      await Promise.all([...apis, ...operators].map((part) => part.stop()))
      await simulator.stop()
      await Promise.all([database.close(), transport.close(), ...gates.map((gate) => gate.remove())])
    },
  }
}

/** Keeps an operator running, as a kubelet does. An operator that has lost its lease exits. */
const superviseOperator = (kubeconfig: string, identity: string) => {
  const stopped = new AbortController()
  const end = new Promise<void>((resolve) => stopped.signal.addEventListener('abort', () => resolve()))
  const running = (async () => {
    while (!stopped.signal.aborted) {
      const operator = await startOperator({
        KUBECONFIG: kubeconfig,
        ORRERY_LEASE_IDENTITY: identity,
        ORRERY_RESTART_BACKOFF_MAX_MS: '60000',
        ORRERY_RETRY_BACKOFF_MAX_MS: '60000',
      }).catch(() => undefined)
      if (operator === undefined) continue
      await Promise.race([operator.exited, end])
      await operator.stop()
    }
  })()
  return {
    stop: async (): Promise<void> => {
      stopped.abort()
      await running
    },
  }
}

/** The uid of each server's pod, by its world and run. */
const readServers = async (namespace: string): Promise<Map<string, string>> => {
  const { items } = await harness.simulator.pods.list({ namespace, labelSelector: `${labels.component}=world` })
  return new Map(
    items.map(({ metadata }) => [
      `${metadata.labels?.[labels.worldId]} ${metadata.labels?.[labels.run]}`,
      metadata.uid ?? '',
    ]),
  )
}

/** Creates worlds, of which half run with bots, and waits until all is in the cluster. */
const aPopulation = async (rest: Rest): Promise<string[]> => {
  const ids: string[] = []
  for (let at = 0; at < worldCount; at += 1) {
    const made = await rest.call<{ worldId: string }>('POST', '/api/worlds/', { name: `World ${at}`, transient: false })
    ids.push(made.body.worldId)
    if (at % 2 === 0) continue
    await rest.call('POST', `/api/worlds/${made.body.worldId}/start/`)
    await rest.call('POST', `/api/worlds/${made.body.worldId}/bots/`, { count: 1 })
  }
  return ids
}

/** Writes over REST until the signal aborts. Returns the statuses of the answers, by their number. */
const write = async (rest: Rest, ids: string[], { random, signal }: { random: () => number; signal: AbortSignal }) => {
  const statuses = new Map<number, number>()
  const acts = [
    async (id: string) => rest.call('PATCH', `/api/worlds/${id}/`, { name: `Named ${random()}` }),
    async (id: string) => rest.call('POST', `/api/worlds/${id}/start/`),
    async (id: string) => rest.call('POST', `/api/worlds/${id}/stop/`),
    async (id: string) => {
      if (ids.length >= maxWorlds) return rest.call('GET', `/api/worlds/${id}/`)
      const made = await rest.call<{ worldId: string }>('POST', '/api/worlds/', { name: 'New', transient: false })
      if (made.status === 200) ids.push(made.body.worldId)
      return made
    },
  ]
  while (!signal.aborted) {
    // The first half of the population is only renamed, so that its servers must survive.
    const at = Math.floor(random() * ids.length)
    const act = at < worldCount / 2 ? acts[0] : acts[Math.floor(random() * acts.length)]
    const answer = await act?.(ids[at] ?? '')
    const status = answer?.status ?? 0
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    await delay(random() * longestPauseMs)
  }
  return statuses
}

const secondsSince = (fromMs: number): number => Math.round((performance.now() - fromMs) / 1_000)

test(`an API server that is gone for ${minutes} minutes under load stops no write of REST and no server`, async () => {
  const rest = await inNewProject(harness.url)
  const namespace = `orrery-${rest.scope.organizationId}`
  const agree = (what: string) =>
    eventually(
      what,
      async () => {
        const differences = await readDifferences({ ...harness, namespace })
        if (differences.length > 0) throw new Error(differences.slice(0, 20).join('\n'))
        return true
      },
      endMs,
    )
  const ids = await aPopulation(rest)
  await eventually('all servers', async () => (await readServers(namespace)).size === worldCount / 2, endMs)
  await agree('agreement before')
  const before = await readServers(namespace)

  for (const gate of harness.gates) gate.close()
  const over = new AbortController()
  const writers = harness.apis.flatMap(({ url }, replica) =>
    Array.from({ length: writersPerReplica }, (_, at) => {
      const random = seeded(seed * 1_000 + replica * 100 + at)
      return write(createRest(url, rest.scope), ids, { random, signal: over.signal })
    }),
  )
  const load = Promise.all(writers)
  await delay(minutes * 60_000)
  expect(await readServers(namespace)).toEqual(before)
  const { count: dirtyRows } = await readDirtyRows(harness.db)
  for (const gate of harness.gates) gate.open()
  over.abort()
  const statuses = (await load).flatMap((each) => [...each])
  const writes = statuses.reduce((sum, [, count]) => sum + count, 0)
  const returnedMs = performance.now()
  await eventually('no dirty row', async () => (await readDirtyRows(harness.db)).count === 0, endMs)
  const drained = secondsSince(returnedMs)
  await agree('agreement after')
  process.stdout.write(
    `outage: seed ${seed}, ${minutes} minutes, ${writes} writes, ${ids.length} worlds, ${dirtyRows} dirty rows; ` +
      `after the return drained in ${drained} s, all agree in ${secondsSince(returnedMs)} s (goal ${goalSeconds} s)\n`,
  )
  expect(new Set(statuses.map(([status]) => status))).toEqual(new Set([200]))
  expect(dirtyRows).toBeGreaterThan(0)
  expect(harness.apis.map((api) => api.hasExited())).toEqual([false, false])
  const after = await readServers(namespace)
  const kept = ids.slice(0, worldCount / 2)
  const serversOf = (all: ReadonlyMap<string, string>) =>
    [...all].filter(([key]) => kept.some((id) => key.startsWith(id)))
  expect(serversOf(after)).toEqual(serversOf(before))
  const replaced = [...before].filter(([key, uid]) => after.has(key) && after.get(key) !== uid)
  expect(replaced).toEqual([])
})
