import type { PlanOf } from '#operator/lifecycle/plan.ts'
import type { Node } from '#operator/pods/node.ts'
import type { Pod } from '#operator/pods/pod.ts'
import type { Service } from '#operator/pods/service.ts'
import type { World, WorldQueue, WorldRun, WorldStatus } from '#shared/resources/world.ts'
import type { WorldSettings } from './settings.ts'

/** A write to the cluster. The executor decides nothing. */
export type Step =
  | { readonly verb: 'createPod'; readonly run: WorldRun }
  | { readonly verb: 'deletePod'; readonly pod: Pod }
  /** For a pod on a dead node: no kubelet is left to confirm its end. */
  | { readonly verb: 'forceDeletePod'; readonly pod: Pod }
  | { readonly verb: 'createService'; readonly run: WorldRun }
  | { readonly verb: 'deleteService'; readonly service: Service }
  | { readonly verb: 'deleteWorld' }

/** The result of planning a World. */
export type Plan = PlanOf<Step, WorldStatus> & {
  /** The status says nothing beyond the steps, so it is written by the reconcile that sees their result. */
  readonly deferStatus?: true
}

/** Everything that a plan depends on. The same input gives the same plan. */
export type PlanInput = {
  readonly world: World
  /** The pod with the world's name, which may be a stranger's. */
  readonly pod: Pod | undefined
  /** The pod's node; `gone` if the pod names a node that does not exist. */
  readonly node: Node | 'gone' | undefined
  /** The service with the world's name, which may be a stranger's. */
  readonly service: Service | undefined
  /** The last queue report of this pod's server to this process. */
  readonly queue: WorldQueue | undefined
  readonly settings: WorldSettings
  readonly nowMs: number
  readonly newRunId: () => string
}
