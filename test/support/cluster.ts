import { execFileSync } from 'node:child_process'
import { botName, indexOf } from '#operator/bots/pod.ts'
import type { Node } from '#operator/pods/node.ts'
import type { Pod } from '#operator/pods/pod.ts'
import type { Service } from '#operator/pods/service.ts'
import { createClient } from '#shared/kube/client.ts'
import { loadCredentials } from '#shared/kube/config.ts'
import { isNotFound } from '#shared/kube/errors.ts'
import { createTransport } from '#shared/kube/transport.ts'
import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import { createClients } from '#shared/resources/clients.ts'
import { botDeploymentResource, worldResource } from '#shared/resources/group.ts'
import { botSelectorOf } from '#shared/resources/selectors.ts'
import type { World } from '#shared/resources/world.ts'
import { containerIn, exited, readyAt } from './podStatuses.ts'
import { getServers, type Servers } from './servers.ts'
import { eventually, patience } from './wait.ts'

/**
 * Creates a client of a cluster, by default this worker's, for an administrator, with helpers that play the kubelet. There is no node, so a pod
 * changes only as the test says.
 */
export const aCluster = (access: Pick<Servers, 'kubectl' | 'adminKubeconfig'> = getServers()) => {
  const transport = createTransport({
    credentials: loadCredentials({ KUBECONFIG: access.adminKubeconfig }),
    userAgent: 'orrery-tests',
  })
  const now = (): string => new Date().toISOString()
  const worlds = createClient<World>(transport, worldResource)
  const botDeployments = createClient<BotDeployment>(transport, botDeploymentResource)
  const pods = createClient<Pod>(transport, { group: '', version: 'v1', plural: 'pods', kind: 'Pod' })
  const services = createClient<Service>(transport, { group: '', version: 'v1', plural: 'services', kind: 'Service' })
  const nodes = createClient<Node>(transport, { group: '', version: 'v1', plural: 'nodes', kind: 'Node' })
  const patchStatus = (path: string, status: object) =>
    transport.request({
      method: 'PATCH',
      path: `/api/v1/${path}/status`,
      contentType: 'application/merge-patch+json',
      body: { status },
    })
  const podStatus = (namespace: string, name: string, status: object) =>
    patchStatus(`namespaces/${namespace}/pods/${name}`, status)

  const ifFound = async <T>(request: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await request()
    } catch (error) {
      if (isNotFound(error)) return undefined
      throw error
    }
  }
  const observe = <T>(what: string, read: () => Promise<T>) => {
    const find = () => ifFound(read)
    return {
      find,
      exists: () => eventually(`${what} exists`, find),
      isGone: () => eventually(`${what} is gone`, async () => (await find()) === undefined),
    }
  }
  const pod = (namespace: string, name: string) => ({
    ...observe(`the pod ${name}`, () => pods.get({ namespace, name })),
    becomesReady: ({ ip = '10.0.0.1' } = {}) => podStatus(namespace, name, readyAt(ip)),
    exits: (exitCode: number) => podStatus(namespace, name, exited(exitCode)),
    runsOutOfMemory: () => podStatus(namespace, name, exited(137, 'OOMKilled')),
    isEvicted: (message: string) => podStatus(namespace, name, { phase: 'Failed', reason: 'Evicted', message }),
    cannotPullItsImage: (message: string) =>
      podStatus(namespace, name, {
        phase: 'Pending',
        containerStatuses: containerIn({ waiting: { reason: 'ErrImagePull', message } }),
      }),
    fitsNowhere: (message: string) =>
      podStatus(namespace, name, {
        phase: 'Pending',
        conditions: [
          { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message, lastTransitionTime: now() },
        ],
      }),
    isPutOn: (node: string) =>
      transport.request({
        method: 'POST',
        path: `/api/v1/namespaces/${namespace}/pods/${name}/binding`,
        body: { apiVersion: 'v1', kind: 'Binding', metadata: { name }, target: { kind: 'Node', name: node } },
      }),
    isHeldBy: (finalizer: string | null) =>
      pods.patch({ namespace, name }, { metadata: { finalizers: finalizer === null ? null : [finalizer] } }),
    /** Removes the pod, as the kubelet does once the server has stopped. The deletion of a pod without a node removes it at once. */
    hasStopped: async () => {
      try {
        await pods.delete({ namespace, name }, { gracePeriodSeconds: 0 })
      } catch (error) {
        if (!isNotFound(error)) throw error
      }
    },
  })
  const botsOf = async (namespace: string, deployment: string): Promise<{ index: number; pod: Pod }[]> => {
    const { items } = await pods.list({ namespace, labelSelector: botSelectorOf(deployment) })
    return items
      .map((each) => ({ index: indexOf(deployment, each.metadata.name) ?? Number.NaN, pod: each }))
      .sort((a, b) => a.index - b.index)
  }
  const kubectl = (...args: string[]): string =>
    execFileSync(access.kubectl, ['--kubeconfig', access.adminKubeconfig, ...args], {
      encoding: 'utf8',
      timeout: 120_000 * patience,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  return {
    transport,
    worlds,
    pods,
    services,
    kubectl,
    /**
     * Removes the resources of Orrery that earlier files left, whose API no longer runs and cannot release them. While one of
     * them has a finalizer, their definitions cannot be deleted.
     */
    removeLeftovers: async (): Promise<void> => {
      for (const client of Object.values(createClients(transport))) {
        const { items } = await client.list({})
        for (const { metadata } of items) {
          await client.patch(metadata, { metadata: { finalizers: null } })
          await ifFound(() => client.delete(metadata))
        }
      }
    },
    /** Binds the operator's role in a namespace, as an administrator does for Worlds without an API. */
    allowOperator: (namespace: string): void => {
      const role = 'orrery-operator-tenant'
      kubectl('-n', namespace, 'create', 'rolebinding', role, `--clusterrole=${role}`, '--user=orrery-operator')
    },
    world: (namespace: string, name: string) => observe(`the World ${name}`, () => worlds.get({ namespace, name })),
    pod,
    botDeployment: (namespace: string, name: string) =>
      observe(`the BotDeployment ${name}`, () => botDeployments.get({ namespace, name })),
    /** Returns the bots of a deployment, lowest index first. */
    bots: (namespace: string, deployment: string) => {
      const indexes = async () => (await botsOf(namespace, deployment)).map(({ index }) => index)
      return {
        indexes,
        list: async () => (await botsOf(namespace, deployment)).map((each) => each.pod),
        pod: (index: number) => pod(namespace, botName(deployment, index)),
        are: (wanted: readonly number[]) =>
          eventually(`the bots ${wanted}`, async () => (await indexes()).join() === wanted.join(), {
            timeoutMs: 45_000,
          }),
        becomeReady: async () => {
          for (const { pod: each } of await botsOf(namespace, deployment)) {
            await pod(namespace, each.metadata.name).becomesReady()
          }
        },
      }
    },
    /** Writes the use of a quota, as the controller-manager does. */
    quotaUses: async (namespace: string, name: string, used: Record<string, number>) => {
      const quota = `/api/v1/namespaces/${namespace}/resourcequotas/${name}`
      const { spec } = await transport.request<{ spec: { hard: object } }>({ method: 'GET', path: quota })
      await transport.request({
        method: 'PATCH',
        path: `${quota}/status`,
        contentType: 'application/merge-patch+json',
        body: {
          status: {
            hard: spec.hard,
            used: Object.fromEntries(Object.entries(used).map(([key, n]) => [key, String(n)])),
          },
        },
      })
    },
    service: (namespace: string, name: string) => ({
      ...observe(`the service ${name}`, () => services.get({ namespace, name })),
      getsAddress: (ip: string) =>
        patchStatus(`namespaces/${namespace}/services/${name}`, { loadBalancer: { ingress: [{ ip }] } }),
    }),
    node: (name: string) => {
      const says = (status: 'True' | 'False' | 'Unknown') =>
        patchStatus(`nodes/${name}`, {
          conditions: [{ type: 'Ready', status, reason: 'Test', lastTransitionTime: now() }],
          addresses: [{ type: 'InternalIP', address: '192.168.7.1' }],
        })
      return {
        joins: async () => {
          await nodes.create({ apiVersion: 'v1', kind: 'Node', metadata: { name } })
          await says('True')
        },
        isSeen: () => says('True'),
        isOutOfSight: () => says('Unknown'),
        isOutOfService: () =>
          nodes.patch(
            { name },
            { spec: { taints: [{ key: 'node.kubernetes.io/out-of-service', value: 'off', effect: 'NoExecute' }] } },
          ),
        isRemoved: () => nodes.delete({ name }),
      }
    },
    close: () => transport.close(),
  }
}
