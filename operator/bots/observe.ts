import { controllerOf } from '#shared/kube/objects.ts'
import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import type { World } from '#shared/resources/world.ts'
import { type BotPod, indexOf, runOf } from './pod.ts'

/**
 * The pods that bear the deployment's label, by index, the lowest first, each in one bucket:
 * - `foreign`: not controlled by this deployment (a stranger's, or left by an earlier deployment of the same name);
 * - `leaving`: ours and on its way out, for whatever reason;
 * - `older`: ours, of another run of the world than the one asked about;
 * - `current`: ours, of that run, and stays.
 * A pod whose name is not that of a bot takes no bot's place and is left alone.
 */
export type Observed = {
  readonly [bucket in 'foreign' | 'leaving' | 'older' | 'current']: ReadonlyMap<number, BotPod>
}

/** Sorts the pods of a deployment, as seen from the run `runId`. */
export const observePods = (bots: BotDeployment, pods: readonly BotPod[], runId: string | undefined): Observed => {
  const observed = {
    foreign: new Map<number, BotPod>(),
    leaving: new Map<number, BotPod>(),
    older: new Map<number, BotPod>(),
    current: new Map<number, BotPod>(),
  }
  const named = pods.flatMap((pod) => {
    const index = indexOf(bots.metadata.name, pod.metadata.name)
    return index === undefined ? [] : [{ index, pod }]
  })
  // A cache has no order, and what follows must not depend on one.
  named.sort((a, b) => a.index - b.index)
  for (const { index, pod } of named) observed[bucketOf(bots, pod, runId)].set(index, pod)
  return observed
}

/** Whether some pod has the name of that bot. */
export const isTaken = ({ foreign, leaving, older, current }: Observed, index: number): boolean =>
  foreign.has(index) || leaving.has(index) || older.has(index) || current.has(index)

const bucketOf = (bots: BotDeployment, pod: BotPod, runId: string | undefined): keyof Observed => {
  if (controllerOf(pod)?.uid !== bots.metadata.uid) return 'foreign'
  if (pod.metadata.deletionTimestamp !== undefined) return 'leaving'
  return runOf(pod) === runId ? 'current' : 'older'
}

/** Whether the container of a pod is over. */
export const isFinished = ({ status }: BotPod): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed'

/** How many bots exist: those that stop still do, those that ended do not. */
export const countBots = ({ leaving, older, current }: Observed): number =>
  [leaving, older, current].flatMap((bucket) => [...bucket.values()]).filter((pod) => !isFinished(pod)).length

/** What the world offers its bots: a run, and where its server is, as long as there is one; or why there is no run. */
export type Host =
  | { readonly active: true; readonly runId: string; readonly address: string | undefined }
  | { readonly active: false; readonly reason: string; readonly message: string }

/** Looks at the world of a deployment. */
export const observeHost = (worldName: string, world: World | undefined): Host => {
  if (world === undefined) {
    const message = `the world ${worldName} does not exist in this namespace: the bots wait for it`
    return { active: false, reason: 'WorldNotFound', message }
  }
  const { phase = 'Inactive', runId, address } = world.status ?? {}
  if (world.metadata.deletionTimestamp !== undefined) {
    return { active: false, reason: 'WorldDeleting', message: `the world ${worldName} is being deleted` }
  }
  if (phase !== 'Active' || runId === undefined) {
    return { active: false, reason: 'WorldNotActive', message: `waiting for the world to be Active; it is ${phase}` }
  }
  return { active: true, runId, address: address && hostAndPort(address) }
}

const hostAndPort = ({ host, port }: { host: string; port: number }): string =>
  host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
