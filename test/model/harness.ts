import { setTimeout as delay } from 'node:timers/promises'
import { openDatabase } from '#api/platform/database/client.ts'
import { freePort } from '#dev/ports.ts'
import { loadCredentials } from '#shared/kube/config.ts'
import { createTransport } from '#shared/kube/transport.ts'
import { startSimulator } from '#test/crash/simulator.ts'
import { startAnotherCluster } from '#test/support/anotherCluster.ts'
import { createGate, createTcpGate } from '#test/support/gate.ts'
import { startNamespaceController } from '#test/support/namespaceController.ts'
import { createPlayerServers } from '#test/support/playerServers.ts'
import { aDatabase, startApi, startOperator } from '#test/support/processes.ts'
import { createRest } from '#test/support/rest.ts'
import { makeDue } from '#test/support/schedules.ts'
import { eventually } from '#test/support/wait.ts'
import { createContainers } from './containers.ts'
import { createDatabaseBackup } from './databaseBackup.ts'
import { pick, type Rest, type System } from './model.ts'
import { createReplicas } from './replicas.ts'

const maxReplicas = 2
const settings = {
  ORRERY_LIMIT_REQUESTS_PER_SECOND: '10000',
  ORRERY_LIMIT_STARTS_PER_MINUTE: '10000',
  // The replicas accept each other's tokens by their public URL.
  ORRERY_PUBLIC_URL: 'https://model.example.com',
}
/** A short lease, so that another replica soon takes over from a suspended one. */
const lease = {
  ORRERY_LEASE_DURATION_MS: '4000',
  ORRERY_LEASE_RENEW_DEADLINE_MS: '3000',
  ORRERY_LEASE_RETRY_MS: '500',
}

/** Short times, so that the operator soon knows the players of a server. */
const polls = { ORRERY_QUEUE_POLL_MS: '500', ORRERY_QUEUE_WRITE_MS: '500' }

/** Creates the place of a replica of the API: its port, and its gates before the database and the cluster. */
const aPlace = async (databaseUrl: string, apiKubeconfig: string) => {
  const database = await createTcpGate(new URL(databaseUrl))
  const cluster = await createGate(apiKubeconfig)
  const through = new URL(databaseUrl)
  through.hostname = '127.0.0.1'
  through.port = String(database.port)
  const port = await freePort()
  return {
    url: `http://127.0.0.1:${port}`,
    gates: { database, cluster },
    start: () => startApi({ databaseUrl: through.href, kubeconfig: cluster.kubeconfig, port, settings }),
    remove: () => Promise.all([database.remove(), cluster.remove()]),
  }
}

/** Starts a cluster, an API behind gates, an operator, the simulated kubelet and the controller of namespaces. */
export const startHarness = async () => {
  const own = await startAnotherCluster()
  const databaseUrl = await aDatabase()
  const places = await Promise.all(Array.from({ length: maxReplicas }, () => aPlace(databaseUrl, own.apiKubeconfig)))
  const [first] = places
  if (first === undefined) throw new Error('The API has no place.')
  const servers = createPlayerServers()
  const simulator = startSimulator({
    labelSelector: '',
    releases: false,
    adminKubeconfig: own.adminKubeconfig,
    servers,
  })
  const database = openDatabase({ url: databaseUrl, poolSize: 4 })
  const transport = createTransport({
    credentials: loadCredentials({ KUBECONFIG: own.adminKubeconfig }),
    userAgent: 'orrery-model',
  })
  const processes = {
    api: createReplicas((at) => (places[at] ?? first).start()),
    // A restarted replica has the identity of the killed one, so it does not wait for its lease.
    operator: createReplicas((at) =>
      startOperator({
        ...lease,
        ...polls,
        ORRERY_LEASE_IDENTITY: `model-${at}`,
        KUBECONFIG: own.operatorKubeconfig,
      }),
    ),
  }
  await Promise.all([processes.api.scaleTo(1), processes.operator.scaleTo(1)])
  const namespaceController = await startNamespaceController(own)
  const backup = createDatabaseBackup(databaseUrl)
  let clusterEpoch = 0
  let replicas = 1
  let random = Math.random
  const pickPlace = () => pick(places.slice(0, replicas), random) ?? first
  const faults: Pick<System, 'kill' | 'replace' | 'suspend' | 'cut' | 'backUp' | 'backUpCluster'> = {
    backUp: async () => {
      await backup.backUp()
      return () => processes.api.whileKilled(backup.restore)
    },
    backUpCluster: async () => {
      // An operator ends when it cannot renew its lease, and does not start without an API server.
      await processes.operator.whileKilled(own.backUp)
      await simulator.restart()
      return async () => {
        clusterEpoch += 1
        await processes.operator.whileKilled(() => processes.api.whileKilled(own.restore))
        await simulator.restart()
        clusterEpoch += 1
      }
    },
    kill: (which) => processes[which].kill(),
    replace: (which) => processes[which].replace(),
    suspend: (which, ms) => processes[which].suspend(ms),
    cut: async (which, ms) => {
      const gate = pickPlace().gates[which]
      gate.close()
      await delay(ms)
      gate.open()
    },
  }
  return {
    url: first.url,
    db: database.db,
    databaseUrl,
    transport,
    simulator,
    servers,
    faults,
    backup,
    apiKubeconfig: own.apiKubeconfig,
    /** Returns a number that grows with each restore of the cluster. It is odd during one. */
    clusterEpoch: (): number => clusterEpoch,
    makeDue: (worldId: string) => makeDue(database.db, worldId),
    containers: createContainers(transport, own.adminKubeconfig),
    /** Sets the number of replicas of each process. `next` picks the replica of each fault and request. */
    scaleTo: async (count: number, next: () => number): Promise<void> => {
      replicas = count
      random = next
      await Promise.all([processes.api.scaleTo(count, next), processes.operator.scaleTo(count, next)])
    },
    /** Waits until each replica of the API answers: one that ended may not be back yet. */
    ready: () =>
      eventually('all replicas of the API', async () => {
        const answers = await Promise.all(places.slice(0, replicas).map(({ url }) => fetch(`${url}/readyz`)))
        return answers.every(({ ok }) => ok)
      }),
    /** Creates a REST client that sends each request to one of the replicas, with the platform key unless a token is given. */
    rest: (scope: Rest['scope'], token?: string): Rest => ({
      scope,
      call: (...request) => createRest(pickPlace().url, scope, token && { token }).call(...request),
    }),
    stop: async () => {
      await Promise.all([processes.api.stop(), processes.operator.stop(), namespaceController.stop()])
      await simulator.stop()
      await servers.close()
      await Promise.all([database.close(), transport.close(), ...places.map((place) => place.remove())])
      await own.stop()
    },
  }
}
