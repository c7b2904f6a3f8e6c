import { freePort } from '#dev/ports.ts'
import { labels, namespaceOf } from '#shared/resources/group.ts'
import { createFaultProxy } from '#test/support/faultProxy.ts'
import { aDatabase, startApi, startOperator } from '#test/support/processes.ts'
import { inNewProject } from '#test/support/rest.ts'
import { getServers } from '#test/support/servers.ts'
import { createApiFixture } from './apiFixture.ts'
import { withoutIds } from './endState.ts'
import { busy, createRunner, metricOf } from './runner.ts'
import { startSimulator } from './simulator.ts'

/**
 * An api behind a proxy of its own, with a database, an operator that does not die, and those who act beside them. These
 * see what bears the label of an organization, as only what an api made does.
 */
export const createApiWorker = async (_number: number, cacheDir: string) => {
  const namespacePrefix = `crash-api-${process.pid}`
  const labelSelector = labels.organization
  // An api lets go of whatever has no row of its own, and there are the worlds of other harnesses.
  const proxy = await createFaultProxy({ kubeconfig: getServers().apiKubeconfig, labelSelector, nameOf: withoutIds })
  const simulator = startSimulator({ labelSelector, releases: false })
  await simulator.makeNamespace(namespacePrefix)
  await simulator.allowLeases(namespacePrefix)
  const beside = await createFaultProxy({
    kubeconfig: getServers().operatorKubeconfig,
    labelSelector,
    nameOf: withoutIds,
  })
  const operator = await startOperator({ KUBECONFIG: beside.kubeconfig, ORRERY_LEASE_NAMESPACE: namespacePrefix })
  const databaseUrl = await aDatabase()
  const port = await freePort()
  const start = () =>
    startApi({
      ...{ databaseUrl, namespacePrefix, kubeconfig: proxy.kubeconfig, port },
      settings: { NODE_COMPILE_CACHE: cacheDir },
    })
  let api = await start()
  await api.stop()
  api = await start()
  const waiting = async (): Promise<number> => {
    const undone = await metricOf(api.metricsUrl, ...busy, /^orrery_outbox_depth (\d+)$/gm)
    return undone + (await metricOf(`${operator.url}/metrics`, ...busy))
  }
  const runner = createRunner({
    proxy,
    restart: async (mend) => {
      api.signal('SIGKILL')
      await api.exited
      mend()
      api = await start()
    },
    depth: waiting,
    createFixture: async () => {
      const rest = await inNewProject(api.url)
      const namespace = namespaceOf(namespacePrefix, rest.scope.organizationId ?? '')
      const isUp = async (): Promise<boolean> => (await fetch(`${api.url}/readyz`)).ok
      return createApiFixture(simulator, rest, namespace, { isUp, depth: waiting })
    },
    consequences: beside.writes,
  })
  return {
    ...runner,
    close: async (): Promise<void> => {
      await api.stop()
      await operator.stop()
      await simulator.stop()
      await proxy.remove()
      await beside.remove()
    },
  }
}
