import { labels } from '#shared/resources/group.ts'
import { createFaultProxy } from '#test/support/faultProxy.ts'
import { busy, metricOf } from '#test/support/metrics.ts'
import { createPlayerServers } from '#test/support/playerServers.ts'
import { startOperator } from '#test/support/processes.ts'
import { getServers } from '#test/support/servers.ts'
import { createRunner } from './runner.ts'
import { startSimulator } from './simulator.ts'
import { createWorldFixture } from './worldFixture.ts'

/**
 * Starts an operator behind its own proxy, with the simulator. It sees only objects with the label of its worker. Its
 * compiled code is kept in `cacheDir`, since operators are started hundreds of times; it is written when one stops in
 * order.
 */
export const createOperatorWorker = async (number: number, cacheDir: string) => {
  const project = `crash-${process.pid}-${number}`
  const labelSelector = `${labels.project}=${project}`
  const proxy = await createFaultProxy({ kubeconfig: getServers().operatorKubeconfig, labelSelector })
  const servers = createPlayerServers()
  const simulator = startSimulator({ labelSelector, servers })
  const leaseNamespace = `${project}-lease`
  await simulator.makeNamespace(leaseNamespace)
  await simulator.allowLeases(leaseNamespace)
  const start = () =>
    startOperator({
      KUBECONFIG: proxy.kubeconfig,
      ORRERY_LEASE_NAMESPACE: leaseNamespace,
      ORRERY_LEASE_IDENTITY: project,
      ORRERY_QUEUE_POLL_MS: '500',
      ORRERY_QUEUE_WRITE_MS: '0',
      NODE_COMPILE_CACHE: cacheDir,
    })
  let operator = await start()
  await operator.stop()
  operator = await start()
  let runs = 0
  const runner = createRunner({
    proxies: [proxy],
    restart: async (mend) => {
      operator.signal('SIGKILL')
      await operator.exited
      mend()
      operator = await start()
    },
    depth: () => metricOf(`${operator.url}/metrics`, ...busy),
    createFixture: async () => {
      runs += 1
      const namespace = `${project}-${runs}`
      await simulator.makeNamespace(namespace)
      return createWorldFixture(simulator, namespace, project, servers)
    },
  })
  return {
    ...runner,
    close: async (): Promise<void> => {
      await operator.stop()
      await simulator.stop()
      await servers.close()
      await proxy.remove()
    },
  }
}
