import { systemClock } from '#shared/clock.ts'
import { createClient } from '#shared/kube/client.ts'
import { loadCredentials } from '#shared/kube/config.ts'
import { silentLog } from '#shared/kube/log.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import { createQueue } from '#shared/kube/queue.ts'
import { createReflector } from '#shared/kube/reflector.ts'
import { createTransport } from '#shared/kube/transport.ts'
import { groupVersion, worldResource } from '#shared/resources/group.ts'
import { barePod, podResource } from '../barePod.ts'
import type { BenchCluster } from '../operator/cluster.ts'
import { hasReadyCondition, type Seen } from '../operator/seen.ts'
import { type Controller, namespace, orrery, type Subject } from './subject.ts'

const workers = 16
const firstListMs = 60_000
const backoff = { baseMs: 5, maxMs: 1_000 }

/**
 * The least that an operator of Worlds can do: one pod for each World, and one small status once the pod is Ready. It checks
 * nothing, repairs nothing, and leaves deletions to the garbage collector. So it shows what the machine allows. It runs in the
 * process of the load generator, which has its CPU.
 */
export const leastOperator: Subject = { ...orrery, name: 'least operator', start: (cluster) => start(cluster) }

const start = async (cluster: BenchCluster): Promise<Controller> => {
  const credentials = loadCredentials({ KUBECONFIG: cluster.operatorKubeconfig })
  const transport = createTransport({ credentials, userAgent: 'orrery-bench-least-operator' })
  const stop = new AbortController()
  const common = { clock: systemClock, random: Math.random, log: silentLog, namespace }
  const clients = {
    worlds: createClient<Seen>(transport, worldResource),
    pods: createClient<Seen>(transport, podResource),
  }
  const worlds = createReflector({ ...common, client: clients.worlds })
  const pods = createReflector({ ...common, client: clients.pods })
  const queue = createQueue({ clock: systemClock, backoff })
  worlds.onChange(({ type, key }) => type === 'added' && queue.add(key))
  pods.onChange(({ type, key, object }) => {
    if (type !== 'deleted' && hasReadyCondition(object)) queue.add(key, { priority: 'high' })
  })

  const handle = async (key: string): Promise<void> => {
    const world = worlds.store.get(key)
    const pod = pods.store.get(key)
    if (world === undefined || hasReadyCondition(world)) return
    if (pod === undefined) await clients.pods.create(podOf(world), { fieldManager: 'orrery-operator' })
    else if (hasReadyCondition(pod)) {
      const status = { fieldManager: 'orrery-operator', force: true }
      await clients.worlds.applyStatus(readyStatus(world), status)
    }
  }
  const work = async (): Promise<void> => {
    for (let key = await queue.get(); key !== undefined; key = await queue.get()) {
      await handle(key).catch(() => queue.addRateLimited(key))
      queue.done(key)
    }
  }
  const running = [worlds.run(stop.signal), pods.run(stop.signal)]
  await Promise.all([worlds.synced({ timeoutMs: firstListMs }), pods.synced({ timeoutMs: firstListMs })])
  for (let worker = 0; worker < workers; worker += 1) running.push(work())
  return {
    usage: async () => ({ cpuSeconds: 0, rssMiB: 0, writes: 0 }),
    stop: async () => {
      stop.abort()
      queue.shutDown()
      await Promise.all(running)
      await transport.close()
    },
  }
}

const podOf = ({ metadata }: KubeObject) => {
  const { name, uid = '' } = metadata
  const owner = { apiVersion: groupVersion, kind: worldResource.kind, name, uid, controller: true }
  const pod = barePod(namespace, name)
  return { ...pod, metadata: { ...pod.metadata, ownerReferences: [owner] } }
}

const readyStatus = ({ apiVersion, kind, metadata: { name } }: KubeObject): KubeObject => {
  const ready = {
    type: 'Ready',
    status: 'True',
    reason: 'ServerReady',
    message: '',
    lastTransitionTime: new Date().toISOString(),
  }
  return {
    apiVersion,
    kind,
    metadata: { namespace, name },
    status: { phase: 'Active', observedGeneration: 1, conditions: [ready] },
  } as KubeObject
}
