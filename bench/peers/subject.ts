import { createIdSource } from '#shared/ids.ts'
import type { ObjectInput, Resource } from '#shared/kube/client.ts'
import { groupVersion, worldResource } from '#shared/resources/group.ts'
import { barePod, podResource } from '../barePod.ts'
import type { BenchCluster } from '../operator/cluster.ts'
import { worldName } from '../operator/objects.ts'
import { hasReadyCondition, type Seen } from '../operator/seen.ts'

/** The namespace of all objects that are measured. */
export const namespace = 'bench-peers'

/** The resources that a controller has used since its start, from its metrics. */
export type ControllerUsage = {
  readonly cpuSeconds: number
  readonly rssMiB: number
  /** All write requests, including those for leases and events. */
  readonly writes: number
}

/** A controller that runs. */
export type Controller = { usage(): Promise<ControllerUsage>; stop(): Promise<void> }

/** A kind of object whose controller makes one pod for each. */
export type Subject = {
  readonly name: string
  readonly resource: Resource
  /** Returns the name of the object with that index. */
  nameOf(at: number): string
  /** Returns the smallest object of its kind that runs a server. */
  body(name: string): ObjectInput
  isReady(object: Seen): boolean
  start(cluster: BenchCluster): Promise<Controller>
}

const newId = createIdSource({ now: Date.now })

/** Returns a short object name. */
export const shortName = (at: number): string => `load-${at}`

/** Pods of the same shape as those of worlds, without a controller. */
export const bare: Subject = {
  name: 'bare pods',
  resource: podResource,
  nameOf: shortName,
  body: (name) => barePod(namespace, name),
  isReady: hasReadyCondition,
  start: async () => ({
    usage: async () => ({ cpuSeconds: 0, rssMiB: 0, writes: 0 }),
    stop: async () => undefined,
  }),
}

/** Worlds that are created started, as the API creates them. */
export const orrery: Subject = {
  name: 'Orrery',
  resource: worldResource,
  nameOf: worldName,
  body: (name) => ({
    apiVersion: groupVersion,
    kind: worldResource.kind,
    metadata: { namespace, name },
    spec: { displayName: name, state: 'Running', runId: newId('run'), startedAt: new Date().toISOString() },
  }),
  isReady: hasReadyCondition,
  start: async (cluster) => {
    // No server answers on a simulated node, and the requests would leave the machine.
    const operator = await cluster.startOperator('peers', { ORRERY_QUEUE_POLL_MS: '86400000' })
    return {
      usage: async () => {
        const { cpuSeconds, rssMiB, writes, events, leaseWrites } = await operator.usage()
        return { cpuSeconds, rssMiB, writes: writes + events + leaseWrites }
      },
      stop: () => operator.stop(),
    }
  },
}
