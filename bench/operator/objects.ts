import { createIdSource } from '#shared/ids.ts'
import { createClient } from '#shared/kube/client.ts'
import { isAlreadyExists } from '#shared/kube/errors.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import type { Transport } from '#shared/kube/transport.ts'
import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import { botDeploymentResource, groupVersion, worldResource } from '#shared/resources/group.ts'
import type { World, WorldSpecInput } from '#shared/resources/world.ts'
import { operatorAccount, userOf } from '../account.ts'
import { barePod } from '../barePod.ts'

const as = { fieldManager: 'orrery-bench', force: true }

const newId = createIdSource({ now: Date.now })

/** Returns the name of the world with that index. */
export const worldName = (at: number): string => `wld-${String(at).padStart(26, '0')}`

/** The number of concurrent requests: one per connection of a transport, so that none spends its timeout in a queue. */
const parallel = 32

/** Runs `work` for all items, with limited concurrency. Returns the results in the order of the items. */
export const forAll = async <T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> => {
  const results: R[] = []
  const left = [...items.entries()]
  const worker = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) results[next[0]] = await work(next[1])
  }
  await Promise.all(Array.from({ length: parallel }, worker))
  return results
}

/** Creates and changes the objects of the bench, 32 at a time. */
export const createObjects = (transport: Transport) => {
  const core = <T extends KubeObject>(plural: string, kind: string) =>
    createClient<T>(transport, { group: '', version: 'v1', plural, kind })
  const worlds = createClient<World>(transport, worldResource)
  const bots = createClient<BotDeployment>(transport, botDeploymentResource)
  const pods = core('pods', 'Pod')
  const all = <T>(count: number, work: (at: number) => Promise<T>, from = 0): Promise<T[]> =>
    forAll(
      Array.from({ length: count }, (_, at) => from + at),
      work,
    )
  const applyWorld = (namespace: string, at: number, spec: WorldSpecInput, labels = {}) =>
    worlds.apply(
      { apiVersion: groupVersion, kind: 'World', metadata: { namespace, name: worldName(at), labels }, spec },
      as,
    )
  return {
    worlds,
    namespace: async (name: string, labels: Record<string, string> = {}): Promise<void> => {
      try {
        await core('namespaces', 'Namespace').create({
          apiVersion: 'v1',
          kind: 'Namespace',
          metadata: { name, labels },
        })
      } catch (error) {
        if (!isAlreadyExists(error)) throw error
      }
      const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1' }
      const role = 'orrery-operator-tenant'
      await createClient(transport, { ...rbac, plural: 'rolebindings', kind: 'RoleBinding' }).apply(
        {
          apiVersion: `${rbac.group}/v1`,
          kind: 'RoleBinding',
          metadata: { name: role, namespace: name },
          roleRef: { apiGroup: rbac.group, kind: 'ClusterRole', name: role },
          subjects: [{ apiGroup: rbac.group, kind: 'User', name: userOf(operatorAccount) }],
        },
        as,
      )
      // The API server rejects pods until this account exists, which the controller-manager creates later.
      const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace: name } }
      await core('serviceaccounts', 'ServiceAccount').apply(account, as)
    },
    /** Creates worlds that are stopped. */
    stoppedWorlds: (
      namespace: string,
      count: number,
      from = 0,
      { spec = {}, labels = {} }: { spec?: WorldSpecInput; labels?: Record<string, string> } = {},
    ) => all(count, (at) => applyWorld(namespace, at, { displayName: `World ${at}`, ...spec }, labels), from),
    /** Starts worlds as the API does, with a run id. Returns the time at which each apply returned, by name. */
    startWorlds: async (namespace: string, count: number, from = 0, spec: WorldSpecInput = {}) => {
      const appliedMs = new Map<string, number>()
      const startedAt = new Date().toISOString()
      await all(
        count,
        async (at) => {
          const run = { runId: newId('run'), startedAt }
          await applyWorld(namespace, at, { displayName: `World ${at}`, state: 'Running', ...run, ...spec })
          appliedMs.set(worldName(at), performance.now())
        },
        from,
      )
      return appliedMs
    },
    removeWorlds: (namespace: string, count: number) =>
      all(count, (at) => worlds.delete({ namespace, name: worldName(at) })),
    barePods: async (namespace: string, prefix: string, count: number): Promise<string[]> => {
      const names = Array.from({ length: count }, (_, at) => `${prefix}-${at}`)
      await forAll(names, (name) => pods.create(barePod(namespace, name)))
      return names
    },
    removePods: (namespace: string, names: readonly string[]) =>
      forAll(names, (name) => pods.delete({ namespace, name }, { gracePeriodSeconds: 0 })),
    bots: (namespace: string, name: string, world: string, count: number) =>
      bots.apply(
        {
          apiVersion: groupVersion,
          kind: 'BotDeployment',
          metadata: { namespace, name },
          spec: { worldName: world, count },
        },
        as,
      ),
  }
}

/** The objects of a bench. */
export type Objects = ReturnType<typeof createObjects>
