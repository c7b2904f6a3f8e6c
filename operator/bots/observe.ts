import { type Pod, runIdOf } from '#operator/pods/pod.ts'
import { endOf } from '#operator/pods/podState.ts'
import { isJoinable } from '#shared/domain/phases.ts'
import { controllerOf } from '#shared/kube/objects.ts'
import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import { botAddressOf } from './address.ts'
import { indexOf } from './pod.ts'
import type { PlanInput } from './step.ts'

/**
 * The pods with the bot deployment's label, by index, lowest first, each in one bucket:
 * - `strangers`: this bot deployment does not control it;
 * - `terminating`: it is ours and has a deletionTimestamp;
 * - `older`: it is ours and of another run than `runId`;
 * - `current`: it is ours and of that run.
 * Pods without the name of a bot are left out.
 */
export type BotPods = {
  readonly [bucket in 'strangers' | 'terminating' | 'older' | 'current']: ReadonlyMap<number, Pod>
}

/** Sorts the pods of a bot deployment, as seen from the run `runId`. */
export const observePods = (bots: BotDeployment, pods: readonly Pod[], runId: string | undefined): BotPods => {
  const buckets = {
    strangers: new Map<number, Pod>(),
    terminating: new Map<number, Pod>(),
    older: new Map<number, Pod>(),
    current: new Map<number, Pod>(),
  }
  const indexed = pods.flatMap((pod) => {
    const index = indexOf(bots.metadata.name, pod.metadata.name)
    return index === undefined ? [] : [{ index, pod }]
  })
  // The order of a cache is arbitrary and must not influence the plan.
  indexed.sort((a, b) => a.index - b.index)
  for (const { index, pod } of indexed) buckets[bucketOf(bots, pod, runId)].set(index, pod)
  return buckets
}

const bucketOf = (bots: BotDeployment, pod: Pod, runId: string | undefined): keyof BotPods => {
  if (controllerOf(pod)?.uid !== bots.metadata.uid) return 'strangers'
  if (pod.metadata.deletionTimestamp !== undefined) return 'terminating'
  return runIdOf(pod) === runId ? 'current' : 'older'
}

/** Reports whether a pod has the name of that bot. */
export const isNameInUse = ({ strangers, terminating, older, current }: BotPods, index: number): boolean =>
  strangers.has(index) || terminating.has(index) || older.has(index) || current.has(index)

/** Returns the number of bots that exist, terminating ones included and finished ones excluded. */
export const countBots = ({ terminating, older, current }: BotPods): number =>
  [terminating, older, current]
    .flatMap((bucket) => [...bucket.values()])
    .filter((pod) => endOf(pod, 'bot') === undefined).length

/** The Active run of a bot deployment's world, with the server's address if it has one. */
export type ActiveWorld = { readonly isActive: true; readonly runId: string; readonly address: string | undefined }

/** The reason why a bot deployment's world has no Active run. */
export type InactiveWorld = { readonly isActive: false; readonly reason: string; readonly message: string }

type WorldInput = Pick<PlanInput, 'bots' | 'world' | 'serverIp'>

/** Observes the world of a bot deployment: its Active run, or why it has none. */
export const observeWorld = ({ bots, world, serverIp }: WorldInput): ActiveWorld | InactiveWorld => {
  const { worldName } = bots.spec
  const inactive = (reason: string, message: string): InactiveWorld => ({ isActive: false, reason, message })
  if (world === undefined) {
    return inactive('WorldNotFound', `World ${worldName} does not exist in this namespace. The bots wait for it.`)
  }
  if (world.metadata.deletionTimestamp !== undefined) {
    return inactive('WorldDeleting', `World ${worldName} is being deleted.`)
  }
  const { phase = 'Inactive', runId } = world.status ?? {}
  if (!isJoinable({ phase }) || runId === undefined) {
    return inactive('WorldNotActive', `Waiting for the world to be Active; its phase is ${phase}.`)
  }
  return { isActive: true, runId, address: botAddressOf(world, serverIp) }
}
