import { setTimeout as delay } from 'node:timers/promises'
import { inject } from 'vitest'
import { labels } from '#shared/resources/group.ts'
import { createFaultProxy, effective, type Point, type Write } from '#test/support/faultProxy.ts'
import { startOperator } from '#test/support/processes.ts'
import { startCast } from './cast.ts'
import { createScene } from './scene.ts'
import type { Workload } from './workloads.ts'

/** Twice the longest backoff of the operators that tests start. */
const quietMs = 1_000
const quietLimitMs = 60_000
const pollMs = 50

/** What a run of a workload came to. */
export type Run = {
  readonly endState: string
  /** The signatures of the effective writes, in order. */
  readonly signatures: readonly string[]
  /** How often each object was created and deleted, a line each. */
  readonly counts: string
  readonly orphans: readonly string[]
  /** Whether the writer died where it should, once. */
  readonly fired: boolean
}

/**
 * An operator behind a proxy of its own, with those who act beside it. It sees only the worlds of its worker. Compiled
 * code is kept in `cacheDir`, since operators are started hundreds of times; they write it when they end in order.
 */
export const createWorker = async (number: number, cacheDir: string) => {
  const project = `crash-${process.pid}-${number}`
  const proxy = await createFaultProxy({
    kubeconfig: inject('operatorKubeconfig'),
    labelSelector: `${labels.project}=${project}`,
  })
  const cast = startCast(project)
  const namespaces = cast.client({ group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace' })
  const makeNamespace = (name: string) => namespaces.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  const leaseNamespace = `${project}-lease`
  await makeNamespace(leaseNamespace)
  await allowLeases(cast, leaseNamespace)
  const start = () =>
    startOperator({
      KUBECONFIG: proxy.kubeconfig,
      ORRERY_LEASE_NAMESPACE: leaseNamespace,
      ORRERY_LEASE_IDENTITY: project,
      NODE_COMPILE_CACHE: cacheDir,
    })
  let operator = await start()
  await operator.stop()
  operator = await start()
  let runs = 0
  /** The namespaces of runs that are over, with how many writes each had. */
  const over = new Map<string, number>()

  const restart = async (): Promise<void> => {
    operator.signal('SIGKILL')
    await operator.exited
    proxy.mend()
    operator = await start()
  }
  /** Waits until nothing is left to do and nothing was written for the quiet time, from now on. */
  const quiet = async (): Promise<void> => {
    const fromMs = performance.now()
    while (performance.now() < fromMs + quietLimitMs) {
      const restMs = Math.max(fromMs, proxy.writes().at(-1)?.atMs ?? 0) + quietMs - performance.now()
      // An operator that has just died has nothing to say.
      if (restMs <= 0 && (await depth(operator.url).catch(() => 0)) === 0) return
      await delay(Math.max(restMs, pollMs))
    }
    throw new Error(`the operator did not come to rest in ${quietLimitMs} ms`)
  }
  const perform = async (workload: Workload, trigger?: { signature: string; point: Point }): Promise<Run> => {
    runs += 1
    const namespace = `${project}-${runs}`
    await makeNamespace(namespace)
    const died = Promise.withResolvers<void>()
    let fired = false
    const act = (): void => {
      fired = true
      died.resolve()
    }
    if (trigger) proxy.arm({ ...trigger, namespace, act })
    const scene = createScene(cast, namespace, project)
    const restarted = died.promise.then(restart)
    // Whether the writer dies at all is known only once everything else is over.
    restarted.catch(() => undefined)
    await workload.run(scene)
    // The last writes may follow what the workload waited for, and the writer may die at them.
    if (!fired) await quiet()
    proxy.disarm()
    if (fired) {
      await restarted
      await quiet()
    }
    await scene.settled()
    const writes = proxy.writes(namespace)
    over.set(namespace, writes.length)
    return {
      endState: await scene.endState(),
      signatures: effective(writes).map(({ signature }) => signature),
      counts: countsOf(effective(writes)),
      orphans: await scene.orphans(),
      fired,
    }
  }
  return {
    perform,
    /** Restarts the operator twice, each a full list and a look at every world; what was written then, a line each. */
    resync: async (): Promise<string[]> => {
      for (let round = 0; round < 2; round += 1) {
        await restart()
        await quiet()
      }
      return [...over].flatMap(([namespace, before]) =>
        proxy
          .writes(namespace)
          .slice(before)
          .map(({ signature }) => `${namespace}: ${signature}`),
      )
    },
    close: async (): Promise<void> => {
      await operator.stop()
      await cast.stop()
      await proxy.remove()
    },
  }
}

/** An operator behind its proxy. */
export type Worker = Awaited<ReturnType<typeof createWorker>>

const depth = async (url: string): Promise<number> => {
  const text = await (await fetch(`${url}/metrics`)).text()
  const total = (pattern: RegExp): number =>
    [...text.matchAll(pattern)].reduce((sum, [, value]) => sum + Number(value), 0)
  return total(/^workqueue_depth\{.*\} (\d+)$/gm) + total(/^controller_runtime_active_workers\{.*\} (\d+)$/gm)
}

/** Created and deleted objects; events are told once, or not at all, and count for nothing. */
const countsOf = (writes: readonly Write[]): string => {
  const counts = new Map<string, number>()
  for (const { verb, resource, name } of writes) {
    if (resource === 'events' || !['create', 'delete'].includes(verb)) continue
    const key = `${verb} ${resource} ${name}`
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return [...counts]
    .map(([key, count]) => `${key}: ${count}`)
    .sort()
    .join('\n')
}

const allowLeases = async (cast: ReturnType<typeof startCast>, namespace: string): Promise<void> => {
  const rbac = { group: 'rbac.authorization.k8s.io', version: 'v1' }
  const apiVersion = `${rbac.group}/${rbac.version}`
  const metadata = { name: 'crash-leases', namespace }
  await cast.client({ ...rbac, plural: 'roles', kind: 'Role' }).create({
    ...{ apiVersion, kind: 'Role', metadata },
    rules: [{ apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['*'] }],
  })
  await cast.client({ ...rbac, plural: 'rolebindings', kind: 'RoleBinding' }).create({
    ...{ apiVersion, kind: 'RoleBinding', metadata },
    roleRef: { apiGroup: rbac.group, kind: 'Role', name: metadata.name },
    subjects: [{ apiGroup: rbac.group, kind: 'User', name: 'orrery-operator' }],
  })
}
