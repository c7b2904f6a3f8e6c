import { setTimeout as delay } from 'node:timers/promises'
import type { Pod } from '#operator/pods/pod.ts'
import { systemClock } from '#shared/clock.ts'
import { type Client, createClient } from '#shared/kube/client.ts'
import { loadCredentials } from '#shared/kube/config.ts'
import { isConflict, isForbidden, isNotFound } from '#shared/kube/errors.ts'
import { silentLog } from '#shared/kube/log.ts'
import { type KubeObject, objectKey } from '#shared/kube/objects.ts'
import { createReflector } from '#shared/kube/reflector.ts'
import { createTransport, type Transport } from '#shared/kube/transport.ts'
import { type BotDeployment, isBotsDrained } from '#shared/resources/botDeployment.ts'
import { apiFinalizer, botDeploymentResource, groupVersion, labels, worldResource } from '#shared/resources/group.ts'
import { isDrained, type World } from '#shared/resources/world.ts'
import type { PlayerServers } from '#test/support/playerServers.ts'
import { exited, readyAt } from '#test/support/podStatuses.ts'
import { getServers } from '#test/support/servers.ts'

const maxAttempts = 5
const retryMs = 200

/** A pod with the arguments of its server, with which a workload sets how the server behaves. */
type ServerPod = Pod & { spec?: { nodeName?: string; containers?: { args?: string[] }[] } }

const now = (): string => new Date().toISOString()
/** The node of all pods. It exists, since the operator treats a pod on a missing node as lost. */
const nodeName = 'crash-node-1'

/**
 * Starts the actors beside the operator, which are never killed. The kubelet binds pods, unless `binds` is false because a
 * scheduler does it, runs servers as their first argument says (`fails`, `fails-first`, `ends`, `never`; otherwise they become
 * ready) and stops them at once. The API's part of a deletion removes its finalizer once no server or bot is left, unless `releases` is false because a
 * real API does it. They see only objects with the labels. The cluster is that of this worker, unless another is given. With `servers`,
 * the operator can ask the servers of worlds for their players; their keys are those of the pods.
 */
export const startSimulator = ({
  labelSelector,
  binds = true,
  releases = true,
  adminKubeconfig = getServers().adminKubeconfig,
  servers,
}: {
  labelSelector: string
  binds?: boolean
  releases?: boolean
  adminKubeconfig?: string
  servers?: PlayerServers
}) => {
  const transport = createTransport({
    credentials: loadCredentials({ KUBECONFIG: adminKubeconfig }),
    userAgent: 'orrery-crash-harness',
  })
  const worlds = createClient<World>(transport, worldResource)
  const botDeployments = createClient<BotDeployment>(transport, botDeploymentResource)
  const pods: Client<ServerPod> = createClient(transport, { group: '', version: 'v1', plural: 'pods', kind: 'Pod' })
  const firstPods = new Map<string, string>()
  const underWay = new Map<string, Promise<void>>()

  const podPath = (pod: ServerPod, part: string): string =>
    `/api/v1/namespaces/${pod.metadata.namespace}/pods/${pod.metadata.name}/${part}`
  const status = (pod: ServerPod, wanted: object) =>
    transport.request({
      method: 'PATCH',
      path: podPath(pod, 'status'),
      contentType: 'application/merge-patch+json',
      body: { metadata: { uid: pod.metadata.uid }, status: wanted },
    })
  const nodes = createClient(transport, { group: '', version: 'v1', plural: 'nodes', kind: 'Node' })
  /** Joins the node, also again after a restore of the cluster to a time without it, as a kubelet does. */
  const nodeIsThere = async (): Promise<void> => {
    try {
      await nodes.get({ name: nodeName })
    } catch (error) {
      if (!isNotFound(error)) throw error
      await joinNode()
    }
  }
  const joinNode = async (): Promise<void> => {
    await nodes.apply(
      { apiVersion: 'v1', kind: 'Node', metadata: { name: nodeName } },
      { fieldManager: 'crash', force: true },
    )
    const conditions = [{ type: 'Ready', status: 'True', reason: 'Test', lastTransitionTime: now() }]
    await transport.request({
      method: 'PATCH',
      path: `/api/v1/nodes/${nodeName}/status`,
      contentType: 'application/merge-patch+json',
      body: { status: { conditions } },
    })
  }
  const serve = async (pod: ServerPod): Promise<void> => {
    const behaviour = pod.spec?.containers?.[0]?.args?.[0] ?? 'ready'
    const key = objectKey(pod)
    if (!firstPods.has(key)) firstPods.set(key, pod.metadata.uid ?? '')
    const isFirst = firstPods.get(key) === pod.metadata.uid
    if (behaviour === 'never') return
    if (behaviour === 'fails' || (behaviour === 'fails-first' && isFirst)) await status(pod, exited(3))
    else if (behaviour === 'ends') await status(pod, exited(0))
    else await status(pod, readyAt(await addressOf(pod)))
  }
  const addressOf = async (pod: ServerPod): Promise<string> =>
    (pod.metadata.labels?.[labels.component] === 'world' ? await servers?.addressOf(objectKey(pod)) : undefined) ??
    '10.0.0.1'
  const act = async (pod: ServerPod): Promise<void> => {
    const { name, namespace, uid = '' } = pod.metadata
    if (pod.metadata.deletionTimestamp !== undefined) {
      await pods.delete({ namespace, name }, { uid, gracePeriodSeconds: 0 })
      return
    }
    if (pod.spec?.nodeName === undefined) {
      if (!binds) return
      await nodeIsThere()
      const target = { apiVersion: 'v1', kind: 'Node', name: nodeName }
      const binding = { apiVersion: 'v1', kind: 'Binding', metadata: { name, uid }, target }
      await transport.request({ method: 'POST', path: podPath(pod, 'binding'), body: binding })
    } else if (
      pod.status?.phase === 'Pending' &&
      pod.status.conditions?.every(({ type }) => type !== 'Ready') !== false
    ) {
      await serve(pod)
    }
  }
  const release = async <T extends KubeObject>(client: Client<T>, { metadata }: T, drained: boolean): Promise<void> => {
    if (!releases || !drained || metadata.finalizers?.includes(apiFinalizer) !== true) return
    await client.patch(metadata, { metadata: { finalizers: null } })
  }
  /**
   * Runs the work for each object in order, and again if it fails. Conflicts and missing objects are ignored, since they bring
   * their own event.
   */
  const inTurn = (key: string, work: () => Promise<void>): void => {
    const tolerant = async (): Promise<void> => {
      for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
        try {
          return await work()
        } catch (error) {
          // A namespace that is terminating refuses the binding of a pod.
          if (isNotFound(error) || isConflict(error) || isForbidden(error)) return
          process.stdout.write(`crash harness, attempt ${attempt} of ${maxAttempts}: ${String(error)}\n`)
          await delay(attempt * retryMs)
        }
      }
    }
    underWay.set(key, (underWay.get(key) ?? Promise.resolve()).then(tolerant))
  }
  const common = {
    clock: systemClock,
    random: Math.random,
    log: silentLog,
    labelSelector,
  }
  const podListeners: Parameters<ReturnType<typeof createReflector<ServerPod>>['onChange']>[0][] = []
  const watch = () => {
    const stop = new AbortController()
    const podCache = createReflector({ client: pods, ...common })
    const worldCache = createReflector({ client: worlds, ...common })
    const botCache = createReflector({ client: botDeployments, ...common })
    podCache.onChange((change) => {
      if (change.type !== 'deleted') inTurn(`pod ${change.key}`, () => act(change.object))
      for (const listener of podListeners) listener(change)
    })
    worldCache.onChange(({ type, object, key }) => {
      if (type !== 'deleted') inTurn(`world ${key}`, () => release(worlds, object, isDrained(object)))
    })
    botCache.onChange(({ type, object, key }) => {
      if (type !== 'deleted') inTurn(`bots ${key}`, () => release(botDeployments, object, isBotsDrained(object)))
    })
    const running = Promise.all([podCache, worldCache, botCache].map((cache) => cache.run(stop.signal)))
    return async (): Promise<void> => {
      stop.abort()
      await running
    }
  }
  let stopWatching = watch()
  const namespaces = createClient(transport, { group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace' })
  return {
    makeNamespace: async (name: string, marks: Record<string, string> = {}): Promise<void> => {
      await namespaces.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: marks } })
      await bindOperator(transport, name, { kind: 'ClusterRole', name: 'orrery-operator-tenant' })
    },
    /** Deletes a namespace as an administrator who means it. */
    deleteNamespace: async (name: string): Promise<void> => {
      await namespaces.patch({ name }, { metadata: { annotations: { 'orrery.dev/allow-delete': 'true' } } })
      await namespaces.delete({ name })
    },
    /** Allows operators to hold their lease in a namespace that their roles do not name. */
    allowLeases: (namespace: string): Promise<void> => allowLeases(transport, namespace),
    worlds,
    botDeployments,
    pods,
    /** Calls a listener with each change of a pod. */
    onPodChange: (listener: (typeof podListeners)[number]): void => void podListeners.push(listener),
    /** Lists everything again, as a kubelet that an administrator restarts after etcd was restored. */
    restart: async (): Promise<void> => {
      await stopWatching()
      stopWatching = watch()
    },
    status,
    /**
     * Lets minutes pass for a world that is about to fall asleep: moves the time since which nobody is in it, and its sleep. Does
     * nothing for any other world, and if the operator writes the status at the same time.
     */
    passMinutes: async (ref: { namespace: string; name: string }, minutes: number): Promise<void> => {
      try {
        const { metadata, status: seen } = await worlds.get(ref)
        const { since, sleepsAt } = seen?.idle ?? {}
        if (since === undefined || sleepsAt === undefined) return
        const before = (time: string): string => new Date(Date.parse(time) - minutes * 60_000).toISOString()
        const { resourceVersion } = metadata
        await transport.request({
          method: 'PATCH',
          path: `/apis/${groupVersion}/namespaces/${ref.namespace}/worlds/${ref.name}/status`,
          contentType: 'application/merge-patch+json',
          body: {
            metadata: { resourceVersion },
            status: { idle: { since: before(since), sleepsAt: before(sleepsAt) } },
          },
        })
        // The operator looks at a world again when its pod changes, not when its status does.
        await pods.patch(ref, { metadata: { annotations: { 'test.orrery.dev/passed': now() } } })
      } catch (error) {
        if (!isNotFound(error) && !isConflict(error)) throw error
      }
    },
    stop: async (): Promise<void> => {
      await stopWatching()
      await Promise.all(underWay.values())
      await transport.close()
    },
  }
}

/** The simulated kubelet and finalizer. */
export type Simulator = ReturnType<typeof startSimulator>

const allowLeases = async (transport: Transport, namespace: string): Promise<void> => {
  const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1' }
  const apiVersion = `${rbac.group}/${rbac.version}`
  const metadata = { name: 'crash-leases', namespace }
  await createClient(transport, { ...rbac, plural: 'roles', kind: 'Role' }).create({
    apiVersion,
    kind: 'Role',
    metadata,
    rules: [{ apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['*'] }],
  })
  await bindOperator(transport, namespace, { kind: 'Role', name: metadata.name })
}

/** Binds a role to the operator in a namespace. */
const bindOperator = async (transport: Transport, namespace: string, role: { kind: string; name: string }) => {
  const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1' }
  await createClient(transport, { ...rbac, plural: 'rolebindings', kind: 'RoleBinding' }).create({
    apiVersion: `${rbac.group}/${rbac.version}`,
    kind: 'RoleBinding',
    metadata: { name: role.name, namespace },
    roleRef: { apiGroup: rbac.group, ...role },
    subjects: [{ apiGroup: rbac.group, kind: 'User', name: 'orrery-operator' }],
  })
}
