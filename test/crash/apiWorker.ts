import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readDirtyRows } from '#api/domain/clusters/status.ts'
import { openDatabase } from '#api/platform/database/client.ts'
import { freePort } from '#dev/ports.ts'
import { labels, namespaceOf } from '#shared/resources/group.ts'
import { startAnotherCluster } from '#test/support/anotherCluster.ts'
import { createFaultProxy } from '#test/support/faultProxy.ts'
import { busy, metricOf } from '#test/support/metrics.ts'
import { startNamespaceController } from '#test/support/namespaceController.ts'
import { createPlayerServers } from '#test/support/playerServers.ts'
import { createPostgresProxy } from '#test/support/postgres/proxy.ts'
import { aDatabase, startApi, startOperator } from '#test/support/processes.ts'
import { countActs, makeDue } from '#test/support/schedules.ts'
import { getServers, type Servers } from '#test/support/servers.ts'
import { aTenant } from '#test/support/tenant.ts'
import { createApiFixture } from './apiFixture.ts'
import { withoutIds } from './endState.ts'
import { createRunner } from './runner.ts'
import { startSimulator } from './simulator.ts'

type Access = Pick<Servers, 'adminKubeconfig' | 'apiKubeconfig' | 'operatorKubeconfig'>

/**
 * Starts the simulator and an operator that is not killed in a cluster, and the proxies of the operator and of an API. They see
 * only objects with the label of an organization, which only an API sets.
 */
const startPlace = async (namespacePrefix: string, { adminKubeconfig, apiKubeconfig, operatorKubeconfig }: Access) => {
  const labelSelector = labels.organization
  // An API removes its finalizer from resources without a row, and the worlds of other harnesses have none.
  const proxy = await createFaultProxy({ kubeconfig: apiKubeconfig, labelSelector, nameOf: withoutIds })
  const servers = createPlayerServers()
  const simulator = startSimulator({ labelSelector, releases: false, adminKubeconfig, servers })
  const namespaceController = await startNamespaceController({ adminKubeconfig })
  await simulator.makeNamespace(namespacePrefix)
  await simulator.allowLeases(namespacePrefix)
  const beside = await createFaultProxy({ kubeconfig: operatorKubeconfig, labelSelector, nameOf: withoutIds })
  const operator = await startOperator({
    KUBECONFIG: beside.kubeconfig,
    ORRERY_LEASE_NAMESPACE: namespacePrefix,
    ORRERY_QUEUE_POLL_MS: '500',
  })
  return {
    proxy,
    simulator,
    beside,
    depth: () => metricOf(`${operator.url}/metrics`, ...busy),
    close: async (): Promise<void> => {
      await operator.stop()
      await namespaceController.stop()
      await simulator.stop()
      await servers.close()
      await proxy.remove()
      await beside.remove()
    },
  }
}

/** Starts an API with the cluster of this worker, as `createWorker` says. */
export const createApiWorker = (_number: number, cacheDir: string) =>
  createWorker({ namespacePrefix: `crash-api-${process.pid}`, cacheDir, others: [], settings: () => ({}) })

/** Starts an API with two clusters, of Europe and of North America, as `createWorker` says. */
export const createMoveWorker = async (_number: number, cacheDir: string) => {
  const far = await startAnotherCluster()
  const clustersFile = join(cacheDir, 'clusters.json')
  const placeIn = (region: string) => [{ group: 'production', region }]
  const worker = await createWorker({
    namespacePrefix: `crash-move-${process.pid}`,
    cacheDir,
    others: [far],
    settings: ([kubeconfig]) => {
      const clusters = [
        { name: 'eu', places: placeIn('Europe') },
        { name: 'us', places: placeIn('NorthAmerica'), kubeconfig },
      ]
      writeFileSync(clustersFile, JSON.stringify(clusters))
      return { ORRERY_CLUSTERS_FILE: clustersFile }
    },
  })
  const close = async (): Promise<void> => {
    await worker.close()
    await far.stop()
  }
  return { ...worker, close }
}

/** Starts an API behind its own proxies, with a database and, in each cluster, an operator and the simulator. */
const createWorker = async ({
  namespacePrefix,
  cacheDir,
  others,
  settings,
}: {
  readonly namespacePrefix: string
  readonly cacheDir: string
  /** The clusters beside that of this worker. */
  readonly others: readonly Access[]
  /** Returns the settings of the API for the kubeconfigs of the other clusters. */
  readonly settings: (kubeconfigs: readonly string[]) => Record<string, string>
}) => {
  const first = await startPlace(namespacePrefix, getServers())
  const further = await Promise.all(others.map((each) => startPlace(namespacePrefix, each)))
  const places = [first, ...further]
  const databaseUrl = await aDatabase()
  const database = openDatabase({ url: databaseUrl, poolSize: 1 })
  const postgres = await createPostgresProxy(databaseUrl)
  const port = await freePort()
  const start = () =>
    startApi({
      databaseUrl: postgres.url,
      namespacePrefix,
      kubeconfig: first.proxy.kubeconfig,
      port,
      settings: { NODE_COMPILE_CACHE: cacheDir, ...settings(further.map(({ proxy }) => proxy.kubeconfig)) },
    })
  let api = await start()
  await api.stop()
  api = await start()
  const waiting = async (): Promise<number> => {
    // The gauge of dirty rows may be half a second old, so they are counted in the database.
    const { count: dirtyRows } = await readDirtyRows(database.db)
    const depths = await Promise.all([metricOf(api.metricsUrl, ...busy), ...places.map(({ depth }) => depth())])
    return depths.reduce((sum, depth) => sum + depth, dirtyRows)
  }
  const createFixture = async () => {
    const tenant = await aTenant(api.url)
    const { rest } = tenant
    const user = await tenant.withToken('user-7', [`${tenant.paths.organization}/**:r`])
    const namespace = namespaceOf(namespacePrefix, rest.scope.organizationId ?? '')
    const isUp = async (): Promise<boolean> => (await fetch(`${api.url}/readyz`)).ok
    const simulators = [first.simulator, ...further.map(({ simulator }) => simulator)] as const
    return createApiFixture(simulators, { rest, user }, namespace, {
      isUp,
      depth: waiting,
      makeDue: (worldId) => makeDue(database.db, worldId),
      acts: (organizationId) => countActs(database.db, organizationId),
    })
  }
  const runner = createRunner({
    proxies: places.map(({ proxy }) => proxy),
    database: postgres,
    restart: async (mend) => {
      api.signal('SIGKILL')
      await api.exited
      mend()
      api = await start()
    },
    depth: waiting,
    createFixture,
    consequences: (namespace) => places.flatMap(({ beside }) => beside.writes(namespace)),
  })
  return {
    ...runner,
    createFixture,
    /** The proxies before the first cluster and Postgres: of the API and, beside it, of the operator. */
    proxies: { api: first.proxy, operator: first.beside, database: postgres },
    close: async (): Promise<void> => {
      await api.stop()
      await database.close()
      await postgres.remove()
      await Promise.all(places.map((place) => place.close()))
    },
  }
}
